# The bucket with the bodies, and the machines.

resource "minio_s3_bucket" "bodies" {
  bucket        = local.place.name
  acl           = "private"
  force_destroy = true # kiln render makes the bodies again
}

# Everybody who knows the URL of a body can read it; nobody else can list the bucket. Bodies of mode
# lean hold no secret, and have the names, addresses and versions of the cluster.
resource "minio_s3_object" "body" {
  for_each = local.bodies

  bucket_name = minio_s3_bucket.bodies.bucket
  object_name = regex(local.bucket, each.value.url).key
  source      = "${var.nodes}/${each.value.document}"
  acl         = "public-read"

  lifecycle {
    precondition {
      condition     = can(regex(each.value.sha512, each.value.url))
      error_message = "Write {sha512} into delivery.url: a changed body needs an address of its own."
    }
  }
}

# Control planes on different hosts.
resource "hcloud_placement_group" "control_planes" {
  name = "${local.inventory.name}-control-plane"
  type = "spread"
}

resource "hcloud_server" "machine" {
  for_each   = local.machines
  depends_on = [minio_s3_object.body]

  name        = each.key
  server_type = var.server_types[each.value.role]
  image       = var.image
  location    = var.location
  ssh_keys    = var.ssh_keys

  # Documents for platform hetzner are text in every form.
  user_data = file("${var.nodes}/${each.value.document}")

  # Programs and images come over the public IPv4 address.
  public_net {
    ipv4_enabled = true
    ipv6_enabled = true
  }

  network {
    subnet_id = hcloud_network_subnet.machines.id
    ip        = each.value.addresses[0]
    alias_ips = [] # otherwise each apply takes the server out of the network for a moment
  }

  firewall_ids = concat(
    [hcloud_firewall.machines.id],
    each.value.role == "control-plane" ? [hcloud_firewall.control_planes.id] : [],
  )
  placement_group_id = (
    each.value.role == "control-plane" ? hcloud_placement_group.control_planes.id : null
  )

  labels = {
    cluster = local.inventory.name
    role    = each.value.role
  }

  lifecycle {
    ignore_changes = [image, ssh_keys, user_data] # kiln plan says when to replace which machine
    precondition {
      condition     = filesha256("${var.nodes}/${each.value.document}") == each.value.sha256
      error_message = "${each.value.document} is not the one of inventory.json; run kiln render again."
    }
  }
}
