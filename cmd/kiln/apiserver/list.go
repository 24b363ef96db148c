package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"kiln/render/items"
)

// A list comes in pages of so many objects.
const (
	pageSize = 500
	maxPages = 4 * items.MaxObjects / pageSize // the API server may send less than a page
)

// errPages comes when an API server has always one more page.
var errPages = fmt.Errorf("more than %d pages", maxPages)

// list asks for the pages of a list, and calls next for each. Both may stop it with an error.
func (c *Client) list(
	ctx context.Context, path string, query url.Values,
	next func(*items.Reader) (items.Head, error),
) error {
	page := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for name, values := range query {
		page[name] = values
	}
	var r items.Reader
	for range maxPages {
		body, err := c.open(ctx, path, page)
		if err != nil {
			return err
		}
		r.Read(body)
		head, err := next(&r)
		_ = body.Close()
		if errors.Is(err, io.EOF) {
			err = items.ErrNoJSON
		}
		if err != nil {
			return fmt.Errorf("%s: GET %s: %w", c.URL, path, cause(err))
		}
		if head.Continue == "" {
			return nil
		}
		page.Set("continue", head.Continue)
	}
	return fmt.Errorf("%s: GET %s: %w", c.URL, path, errPages)
}
