# A cluster on EC2 from the documents of kiln render: docs/walk-aws.md. Only cluster.yaml says what
# the cluster is; region, bucket, endpoint and addresses are those of inventory.json.

terraform {
  required_version = ">= 1.4"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}

provider "aws" {
  region = local.place.region
}

variable "nodes" {
  description = "The folder that kiln render wrote."
  type        = string
  default     = "nodes"

  validation {
    condition = 1 == length(distinct(compact([
      for d in jsondecode(file("${var.nodes}/inventory.json")).documents :
      try(regex("^https://([^.]+)[.]s3[.][^.]+[.]amazonaws[.]com/.", d.body.url)[0], "")
      if d.platform == "aws" && try(d.delivery, "") == "lean"
    ])))
    error_message = join(" ", [
      "The documents must have their bodies in one bucket. In cluster.yaml set delivery to",
      "mode lean and a url such as https://BUCKET.s3.REGION.amazonaws.com/{node}/{sha512},",
      "with a bucket whose name has no dot; then run kiln render again.",
    ])
  }

  validation {
    condition = alltrue([
      for fact in jsondecode(file("${var.nodes}/inventory.json")).facts :
      can(regex("^https://[^.:]+[.].*[^.0-9].*:[0-9]+$", fact.value))
      if fact.name == "endpoint"
    ])
    error_message = join(" ", [
      "The endpoint in cluster.yaml must be a name with a dot, such as api.prod.internal.",
      "Terraform makes the zone of it. Change it, and run kiln render again.",
    ])
  }
}

variable "admin" {
  description = "The networks from which people use ssh and the API, such as [\"203.0.113.7/32\"]."
  type        = list(string)
}

variable "image" {
  description = "The name of Canonical's image, with * for its date."
  type        = string
  default     = "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-*"
}

variable "instance_types" {
  description = "The type of instance for each role."
  type        = map(string)
  default     = { control-plane = "m7i.large", worker = "m7i.large", etcd = "m7i.large" }
}

locals {
  inventory = jsondecode(file("${var.nodes}/inventory.json"))
  facts     = { for fact in local.inventory.facts : fact.name => fact.value }
  documents = { for d in local.inventory.documents : d.node => d if d.platform == "aws" }
  machines  = { for name, d in local.documents : name => d if !try(d.pool, false) }
  pools     = { for name, d in local.documents : name => d if try(d.pool, false) }
  roles     = toset([for d in local.documents : d.role])

  control_planes = { for name, d in local.machines : name => d if d.role == "control-plane" }

  endpoint = regex("^https://(?P<host>.+):(?P<port>[0-9]+)$", local.facts["endpoint"])

  # The bodies whose delivery.url leads to a bucket, and that bucket. Other bodies, such as those of
  # kiln serve, stay out of it, because their secrets would be in it.
  bucket = "^https://(?P<name>[^.]+)[.]s3[.](?P<region>[^.]+)[.]amazonaws[.]com/(?P<key>.+)$"
  bodies = {
    for name, d in local.documents : name => d.body
    if try(d.delivery, "") == "lean" && can(regex(local.bucket, d.body.url))
  }
  place = regex(local.bucket, values(local.bodies)[0].url)
}
