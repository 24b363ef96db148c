# A cluster on Hetzner Cloud from the documents of kiln render: docs/walk-hetzner.md. Only
# cluster.yaml says what the cluster is; bucket, endpoint and addresses are those of inventory.json.

terraform {
  required_version = ">= 1.4"
  required_providers {
    hcloud = {
      source  = "hetznercloud/hcloud"
      version = "~> 1.63"
    }
    minio = {
      source  = "aminueza/minio"
      version = "~> 3.0"
    }
  }
}

# The token is HCLOUD_TOKEN of the environment.
provider "hcloud" {}

# The object storage speaks S3. The credentials are MINIO_USER and MINIO_PASSWORD of the
# environment.
provider "minio" {
  minio_server = "${local.place.region}.your-objectstorage.com"
  minio_region = local.place.region
  minio_ssl    = true
}

variable "nodes" {
  description = "The folder that kiln render wrote."
  type        = string
  default     = "nodes"

  validation {
    condition = 1 == length(distinct(compact([
      for d in jsondecode(file("${var.nodes}/inventory.json")).documents :
      try(regex("^https://([^.]+)[.][^.]+[.]your-objectstorage[.]com/.", d.body.url)[0], "")
      if d.platform == "hetzner" && try(d.delivery, "") == "lean"
    ])))
    error_message = join(" ", [
      "The documents must have their bodies in one bucket. In cluster.yaml set delivery to",
      "mode lean and a url such as https://BUCKET.REGION.your-objectstorage.com/{node}/{sha512},",
      "with a bucket whose name has no dot; then run kiln render again.",
    ])
  }

  validation {
    condition = alltrue([
      for fact in jsondecode(file("${var.nodes}/inventory.json")).facts :
      can(regex("^https://[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+:[0-9]+$", fact.value))
      if fact.name == "endpoint"
    ])
    error_message = join(" ", [
      "The endpoint in cluster.yaml must be an IPv4 address of the private network, which the load",
      "balancer gets. Then run kiln render again.",
    ])
  }
}

variable "admin" {
  description = "The networks from which people use ssh and the API, such as [\"203.0.113.7/32\"]."
  type        = list(string)
}

variable "ssh_keys" {
  description = "The names of ssh keys of the project, for root; without one, a password is mailed."
  type        = list(string)
  default     = []
}

variable "image" {
  description = "The image, of the system that the configuration names."
  type        = string
  default     = "debian-12"
}

variable "location" {
  description = "The location of servers and load balancer."
  type        = string
  default     = "fsn1"
}

variable "network_zone" {
  description = "The network zone of the location."
  type        = string
  default     = "eu-central"
}

variable "server_types" {
  description = "The type of server for each role."
  type        = map(string)
  default     = { control-plane = "cx33", worker = "cx33", etcd = "cx23" }
}

locals {
  inventory = jsondecode(file("${var.nodes}/inventory.json"))
  facts     = { for fact in local.inventory.facts : fact.name => fact.value }
  documents = { for d in local.inventory.documents : d.node => d if d.platform == "hetzner" }
  machines  = { for name, d in local.documents : name => d if !try(d.pool, false) }

  control_planes = { for name, d in local.machines : name => d if d.role == "control-plane" }

  endpoint = regex("^https://(?P<host>.+):(?P<port>[0-9]+)$", local.facts["endpoint"])

  # The bodies whose delivery.url leads to a bucket, and that bucket. Other bodies, such as those of
  # kiln serve, stay out of it, because their secrets would be in it.
  bucket = "^https://(?P<name>[^.]+)[.](?P<region>[^.]+)[.]your-objectstorage[.]com/(?P<key>.+)$"
  bodies = {
    for name, d in local.documents : name => d.body
    if try(d.delivery, "") == "lean" && can(regex(local.bucket, d.body.url))
  }
  place = regex(local.bucket, values(local.bodies)[0].url)
}
