package config

// hardware checks the MAC address and the UUID that identify the machine of the i-th node. owners
// maps those of the nodes before it to their indices.
func (v *checker) hardware(i int, owners map[string]int) {
	n, values, here := &v.c.Spec.Nodes[i], &v.values.Nodes[i], v.spec.Key("nodes").Index(i)
	for _, id := range []struct{ key, text, value, problem string }{
		{"mac", n.MAC, values.MAC, macProblem(values.MAC)},
		{"productUUID", n.ProductUUID, values.ProductUUID, uuidProblem(values.ProductUUID)},
	} {
		at := here.Key(id.key)
		if id.text == "" {
			continue
		}
		if id.problem != "" {
			v.report(at, "%s %s", quote(id.text), id.problem)
			continue
		}
		if first, ok := owners[id.value]; ok {
			v.reportTaken(quote(id.text), first, id.key, at)
			continue
		}
		owners[id.value] = i
	}
}
