package kinds

var rules = Joined(workloadRules, objectRules, kubeletRules, proxyRules, settingRules,
	providerRules, schedulerRules)

var required = Joined(workloadRequired, objectRequired, settingRequired, providerRequired)

var documents = Joined(workloadDocuments, objectDocuments, kubeletDocuments, proxyDocuments,
	settingDocuments, providerDocuments, schedulerDocuments)
