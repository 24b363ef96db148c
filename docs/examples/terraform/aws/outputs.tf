locals {
  operator = aws_instance.machine[keys(local.control_planes)[0]].public_ip
}

output "addresses" {
  description = "The public address of each machine, for ssh."
  value       = { for name, machine in aws_instance.machine : name => machine.public_ip }
}

output "kubectl" {
  description = "The flags with which kubectl reaches the first control plane from outside."
  value = join(" ", [
    "--kubeconfig ${var.nodes}/admin.conf",
    "--server https://${local.operator}:6443 --tls-server-name ${local.endpoint.host}",
  ])
}
