# Machines of libvirt from the documents of kiln render: Ignition through QEMU's fw_cfg, cloud-init
# on a seed disk.

terraform {
  required_version = ">= 1.4"
  required_providers {
    libvirt = {
      source  = "dmacvicar/libvirt"
      version = "~> 0.8.0"
    }
  }
}

variable "nodes" {
  description = "The folder that kiln render wrote."
  type        = string
}

variable "images" {
  description = "The image of each system, such as { ubuntu = \"/srv/images/noble.qcow2\" }."
  type        = map(string)
}

variable "network" {
  description = "The name of the network in which the machines' addresses are."
  type        = string
  default     = "default"
}

locals {
  inventory = jsondecode(file("${var.nodes}/inventory.json"))
  documents = {
    for d in local.inventory.documents : d.node => d
    if contains(["libvirt", "qemu", "metal", "nocloud"], d.platform)
  }
  machines  = { for name, d in local.documents : name => d if !try(d.pool, false) }
  ignition  = { for name, d in local.machines : name => d if d.format == "ignition" }
  cloudinit = { for name, d in local.machines : name => d if d.format == "cloud-init" }
}

resource "libvirt_ignition" "document" {
  for_each = local.ignition

  name    = "${local.inventory.name}-${each.key}.ign"
  content = file("${var.nodes}/${each.value.document}")
}

resource "libvirt_cloudinit_disk" "document" {
  for_each = local.cloudinit

  name      = "${local.inventory.name}-${each.key}.iso"
  user_data = file("${var.nodes}/${each.value.document}")
  # The files beside the document: always meta-data, perhaps network-config.
  meta_data = one([
    for f in each.value.others : file("${var.nodes}/${f}") if endswith(f, "/meta-data")
  ])
  network_config = one([
    for f in each.value.others : file("${var.nodes}/${f}") if endswith(f, "/network-config")
  ])
}

resource "libvirt_volume" "disk" {
  for_each = local.machines

  name   = "${local.inventory.name}-${each.key}.qcow2"
  source = var.images[each.value.os]
}

resource "libvirt_domain" "machine" {
  for_each = local.machines

  name            = "${local.inventory.name}-${each.key}"
  vcpu            = 2
  memory          = 4096
  coreos_ignition = try(libvirt_ignition.document[each.key].id, null)
  cloudinit       = try(libvirt_cloudinit_disk.document[each.key].id, null)

  cpu {
    mode = "host-passthrough"
  }

  disk {
    volume_id = libvirt_volume.disk[each.key].id
  }

  network_interface {
    network_name = var.network
    hostname     = each.key
    addresses    = each.value.addresses
    mac          = try(each.value.mac, null)
  }

  lifecycle {
    ignore_changes = [coreos_ignition, cloudinit] # kiln plan says when to replace which machine
    precondition {
      condition     = filesha256("${var.nodes}/${each.value.document}") == each.value.sha256
      error_message = "${each.value.document} is not the one of inventory.json; run kiln render again."
    }
  }
}
