# Compute Engine instances from the documents of kiln render.

terraform {
  required_version = ">= 1.4"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 7.0"
    }
  }
}

variable "nodes" {
  description = "The folder that kiln render wrote."
  type        = string
}

variable "zone" {
  description = "The zone of the machines."
  type        = string
}

variable "image" {
  description = "The image, of the system that the configuration names."
  type        = string
}

variable "subnetwork" {
  description = "The subnetwork in which the machines' addresses are."
  type        = string
}

variable "machine_types" {
  description = "The type of machine for each role."
  type        = map(string)
  default = {
    control-plane = "e2-standard-2"
    worker        = "e2-standard-4"
    etcd          = "e2-standard-2"
  }
}

locals {
  inventory = jsondecode(file("${var.nodes}/inventory.json"))
  documents = { for d in local.inventory.documents : d.node => d if d.platform == "gcp" }
  machines  = { for name, d in local.documents : name => d if !try(d.pool, false) }
}

resource "google_compute_instance" "machine" {
  for_each = local.machines

  name         = "${local.inventory.name}-${each.key}"
  machine_type = var.machine_types[each.value.role]
  zone         = var.zone

  boot_disk {
    initialize_params {
      image = var.image
    }
  }

  network_interface {
    subnetwork = var.subnetwork
    network_ip = each.value.addresses[0]
  }

  # Documents for platform gcp are text in every form.
  metadata = {
    user-data = file("${var.nodes}/${each.value.document}")
  }

  lifecycle {
    ignore_changes = [metadata["user-data"]] # kiln plan says when to replace which machine
    precondition {
      condition     = filesha256("${var.nodes}/${each.value.document}") == each.value.sha256
      error_message = "${each.value.document} is not the one of inventory.json; run kiln render again."
    }
  }
}
