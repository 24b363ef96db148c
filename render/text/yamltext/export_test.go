package yamltext

// Suspect returns the fault that the lines of a document seem to have, without asking the parser.
func Suspect(document []byte) *Fault {
	r := newReader(nil)
	r.document(document)
	return r.fault
}
