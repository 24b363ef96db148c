module kiln/test/boot

go 1.26.0
