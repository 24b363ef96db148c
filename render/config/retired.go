package config

import "reflect"

// retired holds fields that earlier versions had, or that other programs have, by the map in which
// people write them, and what to do without them.
var retired = map[reflect.Type]map[string]string{
	reflect.TypeFor[Network](): {
		"mtu":   "write flannel.mtu, the MTU of the network between the machines",
		"vxlan": "write flannel.backend, and flannel.directRouting for vxlan: auto",
	},
	reflect.TypeFor[Registry](): {
		"auth": noLogin, "auths": noLogin, "password": noLogin, "insecure": anyServer,
		"insecureSkipVerify": anyServer, "plainHTTP": plainHTTP, "skipTLSVerify": anyServer,
	},
	reflect.TypeFor[Updates](): {"start": noWindow, "length": noWindow},
	reflect.TypeFor[Machine](): {"identity": noIdentity, "users": noUsers},
	reflect.TypeFor[Node]():    {"identity": noIdentity, "podCIDRs": noPodCIDRs, "users": noUsers},
	reflect.TypeFor[Pool]():    {"identity": noIdentity, "podCIDRs": noPodCIDRs, "users": noUsers},
	reflect.TypeFor[Patch]():   {"path": "write patchFrom to name a file, or patch with its text"},
	reflect.TypeFor[Addon]():   {"helm": noHelm, "chart": noHelm, "repo": noHelm},
}

const noUsers = "write users in cloudConfig or, on systems with Ignition, passwd.users in " +
	"butane; docs/disks-and-users.md shows both"

const noHelm = "kiln runs no Helm; write the output of helm template into a file, and name that " +
	"with path"

const noLogin = "write username, and passwordFrom with a file that has the password alone"

const anyServer = "write caFrom with the CA or the certificate of the server; ca: none trusts " +
	"any server"

const plainHTTP = "write the URL of the server with http:// into mirrors"

const noWindow = "remove it; write policy: none, and replace machines by newer images, or set " +
	"the window of the system's own updater with files"

const noPodCIDRs = "remove it; the controller-manager gives each Node its part of " +
	"network.podSubnets"

const noIdentity = "remove it; a machine with a name has certificates, and for machines that " +
	"join with a token write a pool"
