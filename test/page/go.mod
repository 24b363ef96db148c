module kiln.dev/kiln/test/page

go 1.26.0
