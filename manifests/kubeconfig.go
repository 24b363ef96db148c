package manifests

import "encoding/base64"

// Credentials are a client's identity and its CA: paths on the machine, or the PEM itself.
type Credentials struct {
	CAFile, CertFile, KeyFile string
	CA, Cert, Key             []byte
	Token                     string
}

// Kubeconfig returns a kubeconfig for one user of one cluster. Kubeconfigs on machines name files
// instead of holding their content: that is smaller, and a rotated file is read again.
func Kubeconfig(cluster, user, server string, c Credentials) []byte {
	clusterInfo := object{"server": server}
	set(clusterInfo, "certificate-authority", c.CAFile)
	set(clusterInfo, "certificate-authority-data", base64.StdEncoding.EncodeToString(c.CA))
	userInfo := object{}
	set(userInfo, "client-certificate", c.CertFile)
	set(userInfo, "client-key", c.KeyFile)
	set(userInfo, "client-certificate-data", base64.StdEncoding.EncodeToString(c.Cert))
	set(userInfo, "client-key-data", base64.StdEncoding.EncodeToString(c.Key))
	set(userInfo, "token", c.Token)
	context := object{"cluster": cluster, "user": user}
	name := user + "@" + cluster
	return marshal(object{
		"apiVersion":      "v1",
		"kind":            "Config",
		"current-context": name,
		"clusters":        list{object{"name": cluster, "cluster": clusterInfo}},
		"users":           list{object{"name": user, "user": userInfo}},
		"contexts":        list{object{"name": name, "context": context}},
	})
}

func set(o object, key, value string) {
	if value != "" {
		o[key] = value
	}
}
