# EC2 instances from the documents of kiln render, and a launch template for each pool.

terraform {
  required_version = ">= 1.4"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}

variable "nodes" {
  description = "The folder that kiln render wrote."
  type        = string
}

variable "ami" {
  description = "The image, of the system that the configuration names."
  type        = string
}

variable "subnet" {
  description = "The subnet in which the machines' addresses are."
  type        = string
}

variable "bucket" {
  description = "The bucket of delivery.url, https://BUCKET.s3.…; null if it is no bucket."
  type        = string
  default     = null
}

variable "instance_types" {
  description = "The type of instance for each role."
  type        = map(string)
  default     = { control-plane = "m7i.large", worker = "m7i.xlarge", etcd = "m7i.large" }
}

locals {
  inventory = jsondecode(file("${var.nodes}/inventory.json"))
  documents = { for d in local.inventory.documents : d.node => d if d.platform == "aws" }
  machines  = { for name, d in local.documents : name => d if !try(d.pool, false) }
  pools     = { for name, d in local.documents : name => d if try(d.pool, false) }

  # Bodies that machines fetch elsewhere, such as from kiln serve, stay out of the bucket, because
  # their secrets would be in it.
  bodies = {
    for name, d in local.documents : name => d.body
    if try(startswith(split("/", d.body.url)[2], "${var.bucket}."), false)
  }
}

# The bodies, in the bucket of delivery.url. Bodies of mode lean hold no secret, and everybody may
# read them. Bodies of the other modes hold secrets: whoever can read the bucket has the machines.
resource "aws_s3_object" "body" {
  for_each = local.bodies

  bucket = var.bucket
  key    = regex("^https?://[^/]+/(.*)$", each.value.url)[0]
  source = "${var.nodes}/${each.value.document}"

  # The key may stay the same when the body changes.
  source_hash = each.value.sha512
}

resource "aws_instance" "machine" {
  for_each   = local.machines
  depends_on = [aws_s3_object.body]

  ami           = var.ami
  instance_type = var.instance_types[each.value.role]
  subnet_id     = var.subnet
  private_ip    = each.value.addresses[0]

  # With network.cni routed, machines pass on packets from and to the addresses of pods.
  source_dest_check = false

  # A document may be compressed, so it is not text.
  user_data_base64 = filebase64("${var.nodes}/${each.value.document}")

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1 # pods are a hop away
  }

  tags = {
    Name    = each.key
    cluster = local.inventory.name
  }

  lifecycle {
    ignore_changes = [user_data_base64] # kiln plan says when to replace which machine
    precondition {
      condition     = filesha256("${var.nodes}/${each.value.document}") == each.value.sha256
      error_message = "${each.value.document} is not the one of inventory.json; run kiln render again."
    }
  }
}

resource "aws_launch_template" "pool" {
  for_each = local.pools

  name          = "${local.inventory.name}-${each.key}"
  image_id      = var.ami
  instance_type = var.instance_types[each.value.role]
  user_data     = filebase64("${var.nodes}/${each.value.document}")
  depends_on    = [aws_s3_object.body]

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }
}
