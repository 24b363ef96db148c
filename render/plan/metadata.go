package plan

// NameSource is how a machine asks its platform for its name: the one by which the platform's cloud controller finds the machine of a Node.
type NameSource struct {
	URL    string
	Header string // that the request needs; empty if none
	Token  string // where a PUT hands out the token for the request, which must have it; empty if it needs none
	Short  bool   // the name ends at the first dot
	Is     string // what the name is, for people
}

// NameSources is the table of platforms that say a machine's name, by the platform. All are asked at the link-local address, so that no name has to
// be resolved.
var NameSources = map[string]NameSource{
	// IMDSv2 alone is on in newer accounts and images; the first version answers with the token too (EC2 user guide, "Use IMDS").
	"aws": {
		URL: "http://" + linkLocal + "/latest/meta-data/local-hostname", Token: "http://" + linkLocal + "/latest/api/token",
		Is: "the private DNS name, or the name with the instance's id where the subnet says so",
	},
	// The computer's name is the VM's, and of a scale set the one that its machine has (cloud-provider-azure, getVmssVM).
	"azure": {
		URL: "http://" + linkLocal + "/metadata/instance/compute/osProfile/computerName?api-version=2021-02-01&format=text", Header: "Metadata: true",
		Is: "the computer's name, also of a scale set's machine",
	},
	"gcp": {
		URL: "http://" + linkLocal + "/computeMetadata/v1/instance/name", Header: "Metadata-Flavor: Google",
		Is: "the instance's name",
	},
	// Nova's own meta_data.json would have to be parsed; what it serves as EC2 does is the name with the network's domain.
	"openstack": {
		URL: "http://" + linkLocal + "/latest/meta-data/local-hostname", Short: true,
		Is: "the server's name",
	},
}
