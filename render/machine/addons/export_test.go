package addons

// Keys returns the key of every row of the table of settings.
func Keys() (keys []string) {
	for _, s := range settings {
		keys = append(keys, s.key)
	}
	return keys
}
