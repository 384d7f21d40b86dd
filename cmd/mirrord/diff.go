package main

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mirrord/internal/diff"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/site"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	html  bool
	files bool
}

func (a *app) diffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff JOB [A] [B] [PATH]",
		Short: "Show what differs between two versions of a mirror",
		Long: `Show what differs between versions A and B of a job's mirror: for every directory how many files were added, changed and removed, and by how
much it grew. B is the current version by default, and A the one before it. PATH is a directory of the mirror, to see that alone, or a page, to
see it line by line; its URL does as well. Write ./2024 for a directory whose name is a number.

Files that are no text, or larger than 8 MiB, are only said to differ. Links are shown as they are in the mirror.`,
		Example: `  mirrord diff samba
  mirrord diff samba 12 14 docs/
  mirrord diff samba 12 14 docs/index.html --html > changes.html
  mirrord diff samba https://www.samba.org/`,
		Args:              cobra.RangeArgs(1, 4),
		ValidArgsFunction: a.completeJob,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.diff(args, f)
		},
	}
	cmd.Flags().BoolVar(&f.html, "html", false, "write the difference of a page as HTML")
	cmd.Flags().BoolVar(&f.files, "files", false, "list the files of each directory too")
	return cmd
}

// compared is the report of diff.
type compared struct {
	Job  string    `json:"job"`
	A    int       `json:"a"`
	B    int       `json:"b"`
	Path string    `json:"path,omitempty"`
	Tree *diff.Dir `json:"tree,omitempty"` // of a directory

	// Of a file.
	What   string     `json:"what,omitempty"` // added, changed, removed or same
	Before *phm.File  `json:"before,omitempty"`
	After  *phm.File  `json:"after,omitempty"`
	Diff   *diff.Page `json:"diff,omitempty"`
}

// diffArgs takes the arguments apart: numbers first; 0 is the default.
func diffArgs(args []string) (name string, a, b int, path string, err error) {
	name = strings.TrimSuffix(args[0], jobSuffix)
	args = args[1:]
	for _, n := range []*int{&a, &b} {
		if len(args) > 0 && args[0] != "" && strings.Trim(args[0], "0123456789") == "" {
			if *n, err = versionArg(args[0]); err != nil {
				return name, a, b, path, err
			}
			args = args[1:]
		}
	}
	if len(args) > 1 {
		return name, a, b, path, usagef("%q: versions are numbers, and one PATH comes after them", args[0])
	}
	if len(args) == 1 {
		path = args[0]
	}
	return name, a, b, path, nil
}

func (a *app) diff(args []string, f diffFlags) error {
	name, from, to, path, err := diffArgs(args)
	if err != nil {
		return err
	}
	if !job.ValidName(name) {
		return usagef("%q cannot name a job", name)
	}
	vs, err := a.versions(name)
	if err != nil {
		return err
	}
	if to == 0 {
		to = vs[len(vs)-1].Number
	}
	if from == 0 {
		if len(vs) < 2 {
			return fmt.Errorf("diff %s: there is no older version", name)
		}
		from = vs[len(vs)-2].Number
	}
	st, err := a.mustState()
	if err != nil {
		return err
	}
	defer st.Close()
	old, err := openPast(st, name, from)
	if err != nil {
		return err
	}
	defer old.Close()
	now, err := openPast(st, name, to)
	if err != nil {
		return err
	}
	defer now.Close()
	c := &compared{Job: name, A: from, B: to}
	c.Path, c.Before, c.After = locate(path, old, now)
	if c.Before != nil || c.After != nil {
		return a.diffPage(c, old, now, f)
	}
	if f.html {
		return usagef("--html is for one page: give its PATH")
	}
	tree := diff.Trees(old.Files(), now.Files())
	if c.Path != "" {
		below := func(f phm.File) bool { return strings.HasPrefix(f.Path, c.Path+"/") }
		if !slices.ContainsFunc(old.Files(), below) && !slices.ContainsFunc(now.Files(), below) {
			return fmt.Errorf("diff %s: neither version has %s", name, path)
		}
		if tree = tree.Find(c.Path); tree == nil {
			tree = &diff.Dir{Path: c.Path}
		}
	}
	if !f.files {
		tree.DropFiles()
	}
	if a.json {
		c.Tree = tree
		return a.printJSON(c)
	}
	return a.printTree(c, tree)
}

// locate finds the file that is meant by a path or URL; without one it returns the path as that of a directory, "" for the top.
func locate(path string, old, now *mirror.PastFS) (p string, before, after *phm.File) {
	find := func(v *mirror.PastFS, is func(*phm.File) bool) *phm.File {
		for i := range v.Files() {
			if f := &v.Files()[i]; is(f) {
				return f
			}
		}
		return nil
	}
	if strings.Contains(path, "://") {
		u, _, _ := strings.Cut(path, "#")
		if canonical, _, err := site.Parse(u); err == nil {
			u = canonical.String()
		}
		isURL := func(f *phm.File) bool { return f.URL == u }
		if before, after = find(old, isURL), find(now, isURL); after != nil {
			return after.Path, before, after
		} else if before != nil {
			return before.Path, before, nil
		}
		return path, nil, nil
	}
	p = strings.Trim(strings.TrimPrefix(path, "./"), "/")
	if p == "." {
		p = ""
	}
	isPath := func(f *phm.File) bool { return f.Path == p }
	return p, find(old, isPath), find(now, isPath)
}

func (a *app) diffPage(c *compared, old, now *mirror.PastFS, f diffFlags) error {
	start := time.Now()
	const timeout = 5 * time.Second
	before, large, err := bodyOf(old, c.Before)
	if err != nil {
		return err
	}
	after, large2, err := bodyOf(now, c.After)
	if err != nil {
		return err
	}
	switch {
	case c.Before == nil:
		c.What = diff.Added
	case c.After == nil:
		c.What = diff.Removed
	case c.Before.SHA256 == c.After.SHA256:
		c.What = "same"
	default:
		c.What = diff.Changed
	}
	if large || large2 {
		c.Diff = &diff.Page{Large: true}
	} else {
		c.Diff = diff.Pages(before, after, diff.Options{Timeout: timeout})
		c.Diff.Cut = time.Since(start) >= timeout
	}
	title := func(version int, f *phm.File) string {
		if f == nil {
			return fmt.Sprintf("version %d: not there", version)
		}
		return fmt.Sprintf("version %d: %s, %s", version, f.Path, bytesText(f.Size))
	}
	titles := diff.Titles{Old: title(c.A, c.Before), New: title(c.B, c.After)}
	switch {
	case a.json:
		return a.printJSON(c)
	case f.html:
		return c.Diff.WriteHTML(a.stdout, fmt.Sprintf("%s: %s", c.Job, c.Path), titles)
	case c.What == "same":
		a.printf("%s: %s is the same in versions %d and %d\n", c.Job, c.Path, c.A, c.B)
		return nil
	}
	return c.Diff.WriteText(a.stdout, titles)
}

// bodyOf reads a file of a version for comparing. One that is not there is empty; a large one is not read.
func bodyOf(v *mirror.PastFS, f *phm.File) (b diff.Body, large bool, err error) {
	if f == nil {
		return b, false, nil
	}
	if f.Size > diff.MaxBytes {
		return b, true, nil
	}
	b.Type = f.Type
	b.Data, err = fs.ReadFile(v, f.Path)
	return b, false, err
}

func (a *app) printTree(c *compared, tree *diff.Dir) error {
	in := ""
	if c.Path != "" {
		in = " in " + c.Path + "/"
	}
	if tree.Total() == 0 {
		a.printf("%s: versions %d and %d do not differ%s\n", c.Job, c.A, c.B, in)
		return nil
	}
	a.printf("%s: from version %d to %d%s: %d added, %d changed, %d removed; %s\n", c.Job, c.A, c.B, in, tree.Added, tree.Changed, tree.Removed, growth(tree.Bytes))
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "ADDED\tCHANGED\tREMOVED\tSIZE\t ")
	tree.Walk(func(d *diff.Dir, depth int) {
		name := d.Path + "/"
		if depth > 0 {
			name = name[strings.LastIndexByte(d.Path, '/')+1:]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t  %s%s\n", count(d.Added), count(d.Changed), count(d.Removed), growth(d.Bytes), strings.Repeat("  ", depth), name)
		for _, f := range d.Files {
			sign := map[string][3]string{diff.Added: {"+", "", ""}, diff.Changed: {"", "~", ""}, diff.Removed: {"", "", "-"}}[f.What]
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t  %s%s\n", sign[0], sign[1], sign[2], growth(f.After-f.Before), strings.Repeat("  ", depth+1), f.Path[strings.LastIndexByte(f.Path, '/')+1:])
		}
	})
	return w.Flush()
}

func count(n int) string {
	if n == 0 {
		return "."
	}
	return fmt.Sprint(n)
}

// growth is a difference of sizes with its sign.
func growth(n int64) string {
	switch {
	case n > 0:
		return "+" + bytesText(n)
	case n < 0:
		return "-" + bytesText(-n)
	}
	return "0 B"
}
