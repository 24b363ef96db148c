package kinds

// rules are the rules of fields, by type and field as fields.txt has them.
var rules = Joined(workloadRules, objectRules, kubeletRules, proxyRules, settingRules,
	providerRules, schedulerRules)

// required lists the fields of a type that must not be empty.
var required = Joined(workloadRequired, objectRequired, settingRequired, providerRequired)

// documents are the rules of documents, by kind.
var documents = Joined(workloadDocuments, objectDocuments, kubeletDocuments, proxyDocuments,
	settingDocuments, providerDocuments, schedulerDocuments)
