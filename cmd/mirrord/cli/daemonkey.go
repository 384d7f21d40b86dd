// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mirrord/job"
)

// DaemonKey is a key of daemon.toml and the flag that sets the same. Without a key the flag is all there is.
type DaemonKey struct {
	job.Key
	Flag  string
	Field any  // pointer to the variable of the flag
	Live  bool // a reload puts it in force
	Stays bool // the flag is as good as the key
}

// NewDaemonKey returns a setting of a key with its type, an example and a sentence.
func NewDaemonKey(flag, name, typ, example, doc string, field any) DaemonKey {
	return DaemonKey{
		Key: job.Key{
			Name:    name,
			Type:    typ,
			Example: example,
			Doc:     doc,
		},
		Flag:  flag,
		Field: field,
	}
}

// DurationFlag adds a flag of a time in the units of job files.
func DurationFlag(cmd *cobra.Command, to *time.Duration, name, usage string) {
	cmd.Flags().Func(name, usage, func(s string) (err error) {
		*to, err = job.ParseDuration(s)
		return err
	})
}

// SizeFlag adds a flag of a size in the units of job files.
func SizeFlag(cmd *cobra.Command, to *job.Size, name, usage string) {
	cmd.Flags().Func(name, usage, func(s string) (err error) {
		if *to, err = job.ParseSize(s); err != nil {
			return fmt.Errorf("size: %w", err)
		}
		return nil
	})
}
