package kinds

// rules are the rules of fields, by type and field as fields.txt has them.
var rules = joined(podRules, kubeletRules, proxyRules, settingRules)

// required lists the fields of a type that must not be empty.
var required = joined(podRequired, settingRequired)

// documents are the rules of documents, by kind.
var documents = joined(podDocuments, kubeletDocuments, proxyDocuments)
