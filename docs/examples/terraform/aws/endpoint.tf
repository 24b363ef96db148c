# The endpoint of cluster.yaml: a load balancer before the API servers, and its name. Both are for
# the machines alone. People reach the API server of a control plane directly.

resource "aws_security_group" "endpoint" {
  name        = "${local.inventory.name}-endpoint"
  description = "The endpoint of ${local.inventory.name}"
  vpc_id      = aws_vpc.cluster.id

  tags = { Name = "${local.inventory.name}-endpoint" }
}

resource "aws_vpc_security_group_ingress_rule" "to_endpoint" {
  for_each = local.roles

  security_group_id            = aws_security_group.endpoint.id
  referenced_security_group_id = aws_security_group.role[each.key].id
  ip_protocol                  = "tcp"
  from_port                    = local.endpoint.port
  to_port                      = local.endpoint.port
}

resource "aws_vpc_security_group_egress_rule" "from_endpoint" {
  security_group_id            = aws_security_group.endpoint.id
  referenced_security_group_id = aws_security_group.role["control-plane"].id
  ip_protocol                  = "tcp"
  from_port                    = 6443
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "from_endpoint" {
  security_group_id            = aws_security_group.role["control-plane"].id
  referenced_security_group_id = aws_security_group.endpoint.id
  ip_protocol                  = "tcp"
  from_port                    = 6443
  to_port                      = 6443
}

resource "aws_lb" "endpoint" {
  name               = "${local.inventory.name}-endpoint"
  load_balancer_type = "network"
  internal           = true
  subnets            = [for subnet in aws_subnet.zone : subnet.id]
  security_groups    = [aws_security_group.endpoint.id]

  # A zone without a healthy control plane still answers.
  enable_cross_zone_load_balancing = true
}

resource "aws_lb_target_group" "api" {
  name        = "${local.inventory.name}-api"
  target_type = "instance"
  protocol    = "TCP"
  port        = 6443
  vpc_id      = aws_vpc.cluster.id

  # With the client's address, a control plane that is sent to itself would get no answer.
  preserve_client_ip = false

  health_check {
    protocol            = "HTTPS"
    port                = 6443
    path                = "/readyz"
    matcher             = "200"
    interval            = 10
    healthy_threshold   = 2
    unhealthy_threshold = 2
  }
}

resource "aws_lb_target_group_attachment" "control_plane" {
  for_each = local.control_planes

  target_group_arn = aws_lb_target_group.api.arn
  target_id        = aws_instance.machine[each.key].id
}

resource "aws_lb_listener" "endpoint" {
  load_balancer_arn = aws_lb.endpoint.arn
  protocol          = "TCP"
  port              = local.endpoint.port

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.api.arn
  }
}

# The name resolves in this network alone.
resource "aws_route53_zone" "private" {
  name = regex("^[^.]+[.](.+)$", local.endpoint.host)[0]

  vpc {
    vpc_id = aws_vpc.cluster.id
  }
}

resource "aws_route53_record" "endpoint" {
  zone_id = aws_route53_zone.private.zone_id
  name    = local.endpoint.host
  type    = "A"

  alias {
    name                   = aws_lb.endpoint.dns_name
    zone_id                = aws_lb.endpoint.zone_id
    evaluate_target_health = false # before the first boot no target is healthy
  }
}
