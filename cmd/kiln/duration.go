package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
)

// duration is the value of a flag that says how long.
type duration time.Duration

// durationVar gives cmd a flag that takes a time with a unit.
func durationVar(cmd *cobra.Command, p *time.Duration, name string, value time.Duration, usage string) {
	*p = value
	cmd.Flags().Var((*duration)(p), name, usage)
}

// Set reads a time such as 20m. Its error says how to write one; Go's own speaks of Go.
func (d *duration) Set(text string) error {
	value, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("want a time with a unit, such as 20m")
	}
	*d = duration(value)
	return nil
}

// String is the time as help shows it.
func (d *duration) String() string { return time.Duration(*d).String() }

// Type is what help calls the value.
func (d *duration) Type() string { return "duration" }
