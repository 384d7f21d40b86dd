// SPDX-License-Identifier: Apache-2.0

package cli

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mirrord/job"
)

// commands describes commands, one after the other. Of each:
//
//	command NAME           in calls of Command
//	use USAGE
//	short SENTENCE         unless that of its operation
//	hidden
//	args N                 exactly so many; -N: at most, N+: at least, N-M: between
//	completes WHAT         arguments: job, file (or job), nothing, versions N (of a job)
//	alias NAME...
//	flag NAME[,LETTER] USAGE
//	old FLAG WHAT          an old flag, and what to do about it
//	moved FLAG...          that only the laboratory has
//	exclusive FLAG...      at most one of them is set
//	long, example          the lines below, without their first tab
//
//go:embed commands.txt
var commands string

// Flags are the variables of flags by name. What they hold is the default.
type Flags map[string]any

// Command makes the command that commands.txt describes under a name.
func (a *CLI) Command(
	name string, flags Flags, run func(cmd *cobra.Command, args []string) error,
) *cobra.Command {
	_, text, _ := strings.Cut(commands, "\ncommand "+name+"\n")
	text, _, _ = strings.Cut(text, "\ncommand ")
	c := &cobra.Command{RunE: run}
	into := &c.Long
	for line := range strings.SplitSeq(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		flag, about, _ := strings.Cut(rest, " ")
		switch word {
		case "use":
			c.Use = rest
		case "short":
			c.Short = rest
		case "hidden":
			c.Hidden = true
		case "args":
			c.Args = argsOf(rest)
		case "completes":
			c.ValidArgsFunction = a.completes(flag, about)
		case "alias":
			c.Aliases = strings.Fields(rest)
		case "flag":
			addFlag(c, flags, flag, about)
		case "old":
			oldFlag(c, flag, about)
		case "moved":
			movedFlags(c, strings.Fields(rest)...)
		case "exclusive":
			c.MarkFlagsMutuallyExclusive(strings.Fields(rest)...)
		case "long":
			into = &c.Long
		case "example":
			into = &c.Example
		default:
			*into += strings.TrimPrefix(line, "\t") + "\n"
		}
	}
	c.Long, c.Example = strings.TrimRight(c.Long, "\n"), strings.TrimRight(c.Example, "\n")
	return c
}

// argsOf reads how many arguments a command takes.
func argsOf(text string) cobra.PositionalArgs {
	least, most, isRange := strings.Cut(text, "-")
	n, _ := strconv.Atoi(strings.TrimSuffix(least, "+"))
	m, _ := strconv.Atoi(most)
	switch {
	case least == "":
		return cobra.MaximumNArgs(m)
	case isRange:
		return cobra.RangeArgs(n, m)
	case strings.HasSuffix(text, "+"):
		return cobra.MinimumNArgs(n)
	case n == 0:
		return cobra.NoArgs
	}
	return cobra.ExactArgs(n)
}

// completes is how arguments are completed.
func (a *CLI) completes(what, n string) cobra.CompletionFunc {
	switch what {
	case "nothing":
		return cobra.NoFileCompletions
	case "file":
		return CompleteJobOrFile(a)
	case "versions":
		most, _ := strconv.Atoi(n)
		return a.CompleteVersions(most)
	}
	return a.CompleteJob
}

// Whole are values of a flag in which commas stand for nothing.
type Whole []string

func addFlag(c *cobra.Command, flags Flags, name, usage string) {
	name, letter, _ := strings.Cut(name, ",")
	f := c.Flags()
	switch p := flags[name].(type) {
	case *bool:
		f.BoolVarP(p, name, letter, *p, usage)
	case *string:
		f.StringVarP(p, name, letter, *p, usage)
	case *[]string:
		f.StringSliceVarP(p, name, letter, *p, usage)
	case *Whole:
		f.StringArrayVarP((*[]string)(p), name, letter, *p, usage)
	case *map[string]string:
		f.StringToStringVarP(p, name, letter, *p, usage)
	case *int:
		f.IntVarP(p, name, letter, *p, usage)
	case *int64:
		f.Int64VarP(p, name, letter, *p, usage)
	case *uint64:
		f.Uint64VarP(p, name, letter, *p, usage)
	case *float64:
		f.Float64VarP(p, name, letter, *p, usage)
	case *job.Size:
		f.Func(name, usage, func(s string) (err error) {
			if *p, err = job.ParseSize(s); err != nil {
				return fmt.Errorf("size: %w", err)
			}
			return nil
		})
	case *Span:
		f.Func(name, usage, func(s string) error {
			d, err := job.ParseDuration(s)
			*p = Span(d)
			return err
		})
	case *time.Duration:
		f.DurationVarP(p, name, letter, *p, usage)
	default:
		panic(fmt.Sprintf("flag --%s of %s: %T", name, c.Name(), p))
	}
}
