# The documents of all machines, for any provider: a module that needs none itself.
#
#   module "kiln" {
#     source = "./documents"
#     nodes  = "./nodes"
#   }
#
#   resource "some_server" "machine" {
#     for_each  = module.kiln.machines
#     name      = each.key
#     user_data = module.kiln.user_data[each.key]
#   }
#
# It fails if the inventory cannot be read, if a document is not the one that it lists, if a file
# beside one is missing, or if one is larger than its platform takes. That finds mistakes and no
# attackers: who can change a document can change the inventory beside it.
#
# The resources here keep hashes of the documents. A state holds the documents themselves, with
# their secrets, if a machine is given its user_data, or if this module is applied by itself.

terraform {
  required_version = ">= 1.4"
}

variable "nodes" {
  description = "The folder that kiln render wrote."
  type        = string
}

locals {
  inventory = jsondecode(file("${var.nodes}/inventory.json"))
  documents = {
    for d in local.inventory.documents : (try(d.pool, false) ? "pools/${d.node}" : d.node) => d
  }
}

resource "terraform_data" "machine" {
  for_each = local.documents

  input = {
    document = each.value.document
    platform = each.value.platform
    format   = each.value.format
    role     = each.value.role
    address  = try(each.value.addresses[0], "")
    sha256   = filesha256("${var.nodes}/${each.value.document}")
    beside   = try(each.value.others, [])
    fetches  = try(each.value.body.url, "")
  }

  lifecycle {
    precondition {
      condition     = filesha256("${var.nodes}/${each.value.document}") == each.value.sha256
      error_message = "${each.value.document} is not the one of inventory.json; run kiln render again."
    }
    precondition {
      condition     = each.value.bytes <= try(each.value.limit, each.value.bytes)
      error_message = "${each.value.document} is larger than ${each.value.platform} takes."
    }
    precondition {
      condition = alltrue([
        for f in try(each.value.others, []) : fileexists("${var.nodes}/${f}")
      ])
      error_message = "A file beside ${each.value.document} is missing."
    }
    precondition {
      condition = try(
        filesha512("${var.nodes}/${each.value.body.document}") == each.value.body.sha512,
        !can(each.value.body),
      )
      error_message = "The body of ${each.value.document} is not the one of inventory.json; run kiln render again."
    }
  }
}

output "machines" {
  description = "The fields of inventory.json that a provider needs, by the name of the machine."
  value       = { for name, m in terraform_data.machine : name => m.output }
}

output "user_data" {
  description = "The document of each machine that is text: every one but some that are compressed."
  sensitive   = true
  value = {
    for name, m in terraform_data.machine : name => file("${var.nodes}/${m.output.document}")
    if can(file("${var.nodes}/${m.output.document}"))
  }
}

output "user_data_base64" {
  description = "The document of each machine, encoded with base64."
  sensitive   = true
  value = {
    for name, m in terraform_data.machine :
    name => filebase64("${var.nodes}/${m.output.document}")
  }
}
