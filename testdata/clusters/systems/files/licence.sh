agent register --key 0000-0000
