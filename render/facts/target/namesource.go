package target

// NameSource is how a machine asks its platform for its name: the name by which the platform's
// cloud controller finds the machine of a Node. Every source is asked at the link-local address, so
// that no name has to be resolved.
type NameSource struct {
	URL    string
	Header string // a header that the request needs; empty if it needs none
	Token  string // the URL where a PUT returns the token that the request needs; empty if none
	Short  bool   // the name ends at the first dot
	Is     string // what the name is, for people
}

// The name sources, by platform.
var (
	// IMDSv2 alone is on in newer accounts and images; the first version answers a request with the
	// token too (EC2 user guide, "Use IMDS").
	awsName = NameSource{
		URL:   "http://" + linkLocal + "/latest/meta-data/local-hostname",
		Token: "http://" + linkLocal + "/latest/api/token",
		Is:    "the private DNS name, or the name with the instance's id where the subnet says so",
	}
	// The computer's name is the name of the VM, and in a scale set that of the set's machine
	// (cloud-provider-azure, getVmssVM).
	azureName = NameSource{
		URL: "http://" + linkLocal + "/metadata/instance/compute/osProfile/computerName" +
			"?api-version=2021-02-01&format=text",
		Header: "Metadata: true",
		Is:     "the computer's name, also of a scale set's machine",
	}
	gcpName = NameSource{
		URL:    "http://" + linkLocal + "/computeMetadata/v1/instance/name",
		Header: "Metadata-Flavor: Google",
		Is:     "the instance's name",
	}
	// Nova's own meta_data.json would have to be parsed. What Nova serves in the form of EC2 is the
	// name with the domain of the network.
	openstackName = NameSource{
		URL:   "http://" + linkLocal + "/latest/meta-data/local-hostname",
		Short: true,
		Is:    "the server's name",
	}
)
