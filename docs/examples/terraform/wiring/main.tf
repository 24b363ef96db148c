# The input of the other examples, without any provider. terraform plan fails if the inventory
# cannot be read, if a document is not the one that it lists, or if one is larger than its platform
# takes. The state holds the hash of each document and nothing else of it.

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
  description = "The machines, with the first sixteen digits of their documents' hashes."
  value       = { for name, m in terraform_data.machine : name => substr(m.input.sha256, 0, 16) }
}
