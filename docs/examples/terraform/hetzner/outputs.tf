locals {
  operator = hcloud_server.machine[keys(local.control_planes)[0]].ipv4_address
}

output "addresses" {
  description = "The public address of each machine, for ssh."
  value       = { for name, machine in hcloud_server.machine : name => machine.ipv4_address }
}

output "kubectl" {
  description = "The flags with which kubectl reaches the first control plane from outside."
  value = join(" ", [
    "--kubeconfig ${var.nodes}/admin.conf",
    "--server https://${local.operator}:6443 --tls-server-name ${local.endpoint.host}",
  ])
}
