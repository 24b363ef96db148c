package cis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// condition is what a value has to meet.
type condition struct {
	text string
	met  func(value) bool
}

// whenSet is a condition that a value which is not set does not meet.
func whenSet(text string, met func(string) bool) condition {
	return condition{text, func(v value) bool { return v.set && met(v.text) }}
}

var (
	set   = whenSet("any value", func(string) bool { return true })
	unset = condition{"none", func(v value) bool { return !v.set }}
)

func orUnset(c condition) condition {
	return condition{c.text + " or none", func(v value) bool { return !v.set || c.met(v) }}
}

func is(want string) condition {
	return whenSet(want, func(text string) bool { return text == want })
}

func isNot(want string) condition {
	return whenSet("anything but "+want, func(text string) bool { return text != want })
}

func has(part string) condition {
	return whenSet(part+" in it", func(text string) bool { return strings.Contains(text, part) })
}

func lacks(part string) condition {
	return whenSet("no "+part+" in it",
		func(text string) bool { return !strings.Contains(text, part) })
}

func atLeast(least int) condition {
	return whenSet(fmt.Sprintf("at least %d", least), func(text string) bool {
		n, err := strconv.Atoi(text)
		return err == nil && n >= least
	})
}

// among is met by a list of which everything is allowed.
func among(what string, allowed ...string) condition {
	return whenSet(what+" alone", func(text string) bool {
		return !slices.ContainsFunc(strings.Split(text, ","),
			func(word string) bool { return !slices.Contains(allowed, word) })
	})
}

// within is met by a mode that allows nothing which the given one does not.
func within(most uint64) condition {
	return whenSet(fmt.Sprintf("%o or less", most), func(text string) bool {
		mode, err := strconv.ParseUint(text, 8, 32)
		return err == nil && mode&^most == 0
	})
}
