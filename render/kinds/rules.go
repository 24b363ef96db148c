package kinds

import (
	"kiln/render/kinds/object"
	"kiln/render/kinds/rule"
	"kiln/render/kinds/workload"
)

// rules are the rules of fields, by type and field as fields.txt has them.
var rules = rule.Joined(workload.Rules, object.Rules, kubeletRules, proxyRules, settingRules)

// required lists the fields of a type that must not be empty.
var required = rule.Joined(workload.Required, object.Required, settingRequired)

// documents are the rules of documents, by kind.
var documents = rule.Joined(workload.Documents, object.Documents, kubeletDocuments,
	proxyDocuments)
