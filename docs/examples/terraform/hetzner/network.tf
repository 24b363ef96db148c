# The private network of the machines, and what may come from outside. Hetzner's firewalls let
# everything through between servers of a private network.

resource "hcloud_network" "cluster" {
  name     = local.inventory.name
  ip_range = "10.0.0.0/16"
}

# The subnet of the addresses in cluster.yaml.
resource "hcloud_network_subnet" "machines" {
  network_id   = hcloud_network.cluster.id
  type         = "cloud"
  network_zone = var.network_zone
  ip_range     = "10.0.0.0/24"
}

resource "hcloud_firewall" "machines" {
  name = local.inventory.name

  rule {
    direction  = "in"
    protocol   = "tcp"
    port       = "22"
    source_ips = var.admin
  }
}

resource "hcloud_firewall" "control_planes" {
  name = "${local.inventory.name}-control-plane"

  rule {
    direction  = "in"
    protocol   = "tcp"
    port       = "6443"
    source_ips = var.admin
  }
}

# The endpoint of cluster.yaml: a load balancer before the API servers. It has no public address;
# people reach the API server of a control plane directly.
resource "hcloud_load_balancer" "endpoint" {
  name               = "${local.inventory.name}-endpoint"
  load_balancer_type = "lb11"
  location           = var.location
}

resource "hcloud_load_balancer_network" "endpoint" {
  load_balancer_id        = hcloud_load_balancer.endpoint.id
  subnet_id               = hcloud_network_subnet.machines.id
  ip                      = local.endpoint.host
  enable_public_interface = false
}

resource "hcloud_load_balancer_service" "api" {
  load_balancer_id = hcloud_load_balancer.endpoint.id
  protocol         = "tcp"
  listen_port      = local.endpoint.port
  destination_port = 6443

  health_check {
    protocol = "http"
    port     = 6443
    interval = 10
    timeout  = 5
    retries  = 2

    http {
      path         = "/readyz"
      tls          = true
      status_codes = ["200"]
    }
  }
}

resource "hcloud_load_balancer_target" "control_plane" {
  for_each   = local.control_planes
  depends_on = [hcloud_load_balancer_network.endpoint]

  type             = "server"
  load_balancer_id = hcloud_load_balancer.endpoint.id
  server_id        = hcloud_server.machine[each.key].id
  use_private_ip   = true
}
