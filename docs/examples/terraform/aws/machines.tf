# The bucket with the bodies, and the machines.

resource "aws_s3_bucket" "bodies" {
  bucket        = local.place.name
  force_destroy = true # kiln render makes the bodies again
}

resource "aws_s3_bucket_public_access_block" "bodies" {
  bucket                  = aws_s3_bucket.bodies.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

# Machines read bodies without credentials, from this network alone. Bodies of mode lean hold no
# secret, and have the names, addresses and versions of the cluster.
resource "aws_s3_bucket_policy" "bodies" {
  depends_on = [aws_s3_bucket_public_access_block.bodies]

  bucket = aws_s3_bucket.bodies.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = "*"
      Action    = "s3:GetObject"
      Resource  = "${aws_s3_bucket.bodies.arn}/*"
      Condition = { StringEquals = { "aws:SourceVpce" = aws_vpc_endpoint.s3.id } }
    }]
  })
}

resource "aws_s3_object" "body" {
  for_each = local.bodies

  bucket = aws_s3_bucket.bodies.id
  key    = regex(local.bucket, each.value.url).key
  source = "${var.nodes}/${each.value.document}"

  # The key may stay the same when the body changes.
  source_hash = each.value.sha512
}

data "aws_ami" "ubuntu" {
  owners      = ["099720109477"] # Canonical
  most_recent = true

  filter {
    name   = "name"
    values = [var.image]
  }
}

resource "aws_instance" "machine" {
  for_each   = local.machines
  depends_on = [aws_route_table_association.zone, aws_s3_bucket_policy.bodies, aws_s3_object.body]

  ami                         = data.aws_ami.ubuntu.id
  instance_type               = var.instance_types[each.value.role]
  subnet_id                   = aws_subnet.zone[local.subnet_of[each.key]].id
  private_ip                  = each.value.addresses[0]
  associate_public_ip_address = true # the way to the internet, without a NAT gateway
  vpc_security_group_ids      = [aws_security_group.role[each.value.role].id]

  # A document may be compressed, so it is not text.
  user_data_base64 = filebase64("${var.nodes}/${each.value.document}")

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1 # pods are a hop away
  }

  root_block_device {
    volume_type = "gp3"
    volume_size = 30
    encrypted   = true
  }

  tags = {
    Name    = each.key
    cluster = local.inventory.name
  }

  lifecycle {
    ignore_changes = [ami, user_data_base64] # kiln plan says when to replace which machine
    precondition {
      condition     = filesha256("${var.nodes}/${each.value.document}") == each.value.sha256
      error_message = "${each.value.document} is not the one of inventory.json; run kiln render again."
    }
  }
}

resource "aws_launch_template" "pool" {
  for_each = local.pools

  name          = "${local.inventory.name}-${each.key}"
  image_id      = data.aws_ami.ubuntu.id
  instance_type = var.instance_types[each.value.role]
  user_data     = filebase64("${var.nodes}/${each.value.document}")
  depends_on    = [aws_s3_object.body]

  network_interfaces {
    associate_public_ip_address = true
    security_groups             = [aws_security_group.role[each.value.role].id]
  }

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  block_device_mappings {
    device_name = "/dev/sda1" # the root of Canonical's images

    ebs {
      volume_type = "gp3"
      volume_size = 30
      encrypted   = true
    }
  }

  lifecycle {
    precondition {
      condition     = filesha256("${var.nodes}/${each.value.document}") == each.value.sha256
      error_message = "${each.value.document} is not the one of inventory.json; run kiln render again."
    }
  }
}
