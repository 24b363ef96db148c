package serve

import "sync"

// copies are the documents in memory. All transfers of one document share a copy, and one document
// is read at a time: the memory for it is then bounded, however many clients ask.
type copies struct {
	mu sync.Mutex
	of map[*item]*shared
}

// shared is the content of an item while somebody uses it.
type shared struct {
	data  []byte
	sum   string // the SHA-256 of data
	users int
}

// take returns the content of an item, and the function that gives it up. It fails as read does,
// also if the file has changed since the copy was made.
func (c *copies) take(it *item) (data []byte, leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.of[it]
	if s == nil || !it.isStill(s.sum) {
		if data, err = it.read(); err != nil {
			return nil, nil, err
		}
		s = &shared{data: data, sum: hexSum(data, 0)}
		if c.of == nil {
			c.of = map[*item]*shared{}
		}
		c.of[it] = s
	}
	s.users++
	return s.data, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if s.users--; s.users == 0 && c.of[it] == s {
			delete(c.of, it)
		}
	}, nil
}

// isStill reports whether the files of an item are those of its copy, with this SHA-256. It reads
// them in small parts.
func (it *item) isStill(sum string) bool {
	now, err := it.hash()
	if err != nil || now != sum || it.holds == nil {
		return err == nil && now == sum
	}
	return it.holds.isStill(it.holds.given)
}
