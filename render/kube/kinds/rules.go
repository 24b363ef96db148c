package kinds

// rules are the rules of fields, by type and field as fields.txt has them.
var rules = Joined(WorkloadRules, Rules, kubeletRules, proxyRules, settingRules)

// required lists the fields of a type that must not be empty.
var required = Joined(WorkloadRequired, Required, settingRequired)

// documents are the rules of documents, by kind.
var documents = Joined(WorkloadDocuments, Documents, kubeletDocuments,
	proxyDocuments)
