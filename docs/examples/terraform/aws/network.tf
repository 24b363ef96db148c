# The network: a subnet in each of three zones, and the ports between the machines.

locals {
  network = "10.0.0.0/16"

  # The subnets of the addresses in cluster.yaml, each in a zone: 10.0.1.0/24 and the next two.
  zones   = slice(data.aws_availability_zones.region.names, 0, 3)
  subnets = { for i, zone in local.zones : cidrsubnet(local.network, 8, i + 1) => zone }

  # The subnet in which a machine's address is.
  subnet_of = {
    for name, d in local.machines : name => "${cidrhost("${d.addresses[0]}/24", 0)}/24"
  }
}

data "aws_availability_zones" "region" {
  state = "available"

  filter {
    name   = "opt-in-status"
    values = ["opt-in-not-required"]
  }
}

resource "aws_vpc" "cluster" {
  cidr_block           = local.network
  enable_dns_support   = true
  enable_dns_hostnames = true # a private zone wants both

  tags = { Name = local.inventory.name }
}

resource "aws_subnet" "zone" {
  for_each = local.subnets

  vpc_id            = aws_vpc.cluster.id
  cidr_block        = each.key
  availability_zone = each.value

  tags = { Name = "${local.inventory.name}-${each.value}" }
}

# Machines fetch programs and images from the internet.
resource "aws_internet_gateway" "cluster" {
  vpc_id = aws_vpc.cluster.id

  tags = { Name = local.inventory.name }
}

resource "aws_route_table" "cluster" {
  vpc_id = aws_vpc.cluster.id

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.cluster.id
  }

  tags = { Name = local.inventory.name }
}

resource "aws_route_table_association" "zone" {
  for_each = local.subnets

  subnet_id      = aws_subnet.zone[each.key].id
  route_table_id = aws_route_table.cluster.id
}

# The way to the bucket. The bucket answers to nothing that comes another way.
resource "aws_vpc_endpoint" "s3" {
  vpc_id            = aws_vpc.cluster.id
  service_name      = "com.amazonaws.${local.place.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = [aws_route_table.cluster.id]
}

locals {
  # Each role's security group lets these in, and nothing else.
  rules = [
    { from = "control-plane", to = "control-plane", protocol = "tcp", ports = "6443" },
    { from = "worker", to = "control-plane", protocol = "tcp", ports = "6443" },
    { from = "control-plane", to = "control-plane", protocol = "tcp", ports = "10250" },
    { from = "control-plane", to = "worker", protocol = "tcp", ports = "10250" },
    { from = "control-plane", to = "control-plane", protocol = "tcp", ports = "2378-2380" },
    { from = "etcd", to = "etcd", protocol = "tcp", ports = "2378-2380" },
    { from = "control-plane", to = "etcd", protocol = "tcp", ports = "2379" },

    # VXLAN carries the packets of pods. With a CNI of yours, write its ports.
    { from = "control-plane", to = "control-plane", protocol = "udp", ports = "8472" },
    { from = "control-plane", to = "worker", protocol = "udp", ports = "8472" },
    { from = "worker", to = "control-plane", protocol = "udp", ports = "8472" },
    { from = "worker", to = "worker", protocol = "udp", ports = "8472" },
  ]
}

resource "aws_security_group" "role" {
  for_each = local.roles

  name        = "${local.inventory.name}-${each.key}"
  description = "Machines of ${local.inventory.name} with the role ${each.key}"
  vpc_id      = aws_vpc.cluster.id

  tags = { Name = "${local.inventory.name}-${each.key}" }
}

resource "aws_vpc_security_group_ingress_rule" "machines" {
  for_each = {
    for rule in local.rules : "${rule.from} ${rule.to} ${rule.protocol} ${rule.ports}" => rule
    if contains(local.roles, rule.from) && contains(local.roles, rule.to)
  }

  security_group_id            = aws_security_group.role[each.value.to].id
  referenced_security_group_id = aws_security_group.role[each.value.from].id
  ip_protocol                  = each.value.protocol
  from_port                    = split("-", each.value.ports)[0]
  to_port                      = reverse(split("-", each.value.ports))[0]
}

resource "aws_vpc_security_group_ingress_rule" "ssh" {
  for_each = { for pair in setproduct(local.roles, var.admin) : join(" ", pair) => pair }

  security_group_id = aws_security_group.role[each.value[0]].id
  cidr_ipv4         = each.value[1]
  ip_protocol       = "tcp"
  from_port         = 22
  to_port           = 22
}

resource "aws_vpc_security_group_ingress_rule" "api" {
  for_each = toset(var.admin)

  security_group_id = aws_security_group.role["control-plane"].id
  cidr_ipv4         = each.key
  ip_protocol       = "tcp"
  from_port         = 6443
  to_port           = 6443
}

resource "aws_vpc_security_group_egress_rule" "role" {
  for_each = local.roles

  security_group_id = aws_security_group.role[each.key].id
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
}
