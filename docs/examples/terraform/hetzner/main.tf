# Servers of Hetzner Cloud from the documents of kiln render.

terraform {
  required_version = ">= 1.4"
  required_providers {
    hcloud = {
      source  = "hetznercloud/hcloud"
      version = "~> 1.50"
    }
  }
}

variable "nodes" {
  description = "The folder that kiln render wrote."
  type        = string
}

variable "image" {
  description = "The image, of the system that the configuration names."
  type        = string
}

variable "location" {
  description = "The location of the servers."
  type        = string
}

variable "network" {
  description = "The id of the private network in which the machines' addresses are."
  type        = number
}

variable "server_types" {
  description = "The type of server for each role."
  type        = map(string)
  default     = { control-plane = "cx32", worker = "cx42", etcd = "cx32" }
}

locals {
  inventory = jsondecode(file("${var.nodes}/inventory.json"))
  documents = { for d in local.inventory.documents : d.node => d if d.platform == "hetzner" }
  machines  = { for name, d in local.documents : name => d if !try(d.pool, false) }
}

resource "hcloud_server" "machine" {
  for_each = local.machines

  name        = each.key
  server_type = var.server_types[each.value.role]
  image       = var.image
  location    = var.location

  # Documents for platform hetzner are text in every form.
  user_data = file("${var.nodes}/${each.value.document}")

  network {
    network_id = var.network
    ip         = each.value.addresses[0]
  }

  labels = {
    cluster = local.inventory.name
    role    = each.value.role
  }

  lifecycle {
    ignore_changes = [user_data] # kiln plan says when to replace which machine
    precondition {
      condition     = filesha256("${var.nodes}/${each.value.document}") == each.value.sha256
      error_message = "${each.value.document} is not the one of inventory.json; run kiln render again."
    }
  }
}
