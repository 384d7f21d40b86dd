// SPDX-License-Identifier: Apache-2.0

// Command sbom writes what a built binary is made of, from the build information inside it and the module
// cache:
//
//	sbom BINARY VERSION SBOM.cdx.json LICENSES.txt
//
// The first file is a bill of materials (CycloneDX 1.5, JSON). The second holds the licence texts of all
// modules that are linked, and Go's own, which their licences require to accompany the binary. The same
// binary gives the same bytes. A module without a licence file, or with one that is not recognised, is an
// error: look at it before it is distributed.
package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY VERSION SBOM.cdx.json LICENSES.txt")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(binary, version, bom, licences string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	all, err := modules(info)
	if err != nil {
		return err
	}
	data, err := billOfMaterials(info, version, all)
	if err != nil {
		return err
	}
	var texts bytes.Buffer
	fmt.Fprintf(&texts,
		"mirrord is distributed under the Apache License 2.0. It is linked with the modules below, each under "+
			"the licence that follows its name.\n")
	for _, m := range all {
		fmt.Fprintf(&texts, "\n%s\n%s %s (%s)\n%s\n\n%s\n", strings.Repeat("=", 80), m.path, m.version, m.licence,
			strings.Repeat("=", 80), bytes.TrimSpace(m.text))
	}
	return errors.Join(os.WriteFile(bom, data, 0o644), os.WriteFile(licences, texts.Bytes(), 0o644))
}

// module is one module that is linked.
type module struct {
	path, version, sum string
	licence            string // SPDX identifier
	text               []byte // the licence file
}

// modules returns what the binary is linked with, Go's standard library first.
func modules(info *debug.BuildInfo) ([]module, error) {
	root, err := goEnv("GOROOT")
	if err != nil {
		return nil, err
	}
	cache, err := goEnv("GOMODCACHE")
	if err != nil {
		return nil, err
	}
	std := module{path: "std", version: strings.TrimPrefix(info.GoVersion, "go")}
	if err := std.read(root); err != nil {
		return nil, err
	}
	all := []module{std}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		m := module{path: d.Path, version: d.Version, sum: d.Sum}
		if err := m.read(filepath.Join(cache, escape(d.Path)+"@"+escape(d.Version))); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	slices.SortFunc(all[1:], func(a, b module) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

func goEnv(name string) (string, error) {
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("go env %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// escape writes upper-case letters as the module cache does: "!" and the small letter.
func escape(path string) string {
	var b strings.Builder
	for _, r := range path {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('!')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// read finds the licence of a module in its folder.
func (m *module) read(dir string) error {
	for _, name := range []string{
		"LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "COPYING", "License", "license",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		m.text, m.licence = text, licenceOf(text)
		if m.licence == "" {
			return fmt.Errorf("%s: the licence is not recognised: look at %s", m.path, filepath.Join(dir, name))
		}
		return nil
	}
	return fmt.Errorf("%s: no licence file in %s", m.path, dir)
}

// licenceOf recognises a licence by sentences that only it has.
func licenceOf(text []byte) string {
	s := strings.Join(strings.Fields(string(text)), " ")
	has := func(part string) bool { return strings.Contains(s, part) }
	var found []string
	if has("Apache License Version 2.0") || has("Apache License, Version 2.0") {
		found = append(found, "Apache-2.0")
	}
	if has("Permission is hereby granted, free of charge, to any person obtaining a copy") {
		found = append(found, "MIT")
	}
	if has("Redistribution and use in source and binary forms") {
		id := "BSD-2-Clause"
		if has("nor the names of") || has("Neither the name of") {
			id = "BSD-3-Clause"
		}
		found = append(found, id)
	}
	if has("Permission to use, copy, modify, and/or distribute this software for any purpose") ||
		has("Permission to use, copy, modify, and distribute this software for any purpose") {
		found = append(found, "ISC")
	}
	if has("Mozilla Public License Version 2.0") || has("Mozilla Public License, version 2.0") {
		found = append(found, "MPL-2.0")
	}
	return strings.Join(found, " AND ")
}

// billOfMaterials has no time and no serial number, so that two builds are equal.
func billOfMaterials(info *debug.BuildInfo, version string, all []module) ([]byte, error) {
	main := cdx.Component{
		BOMRef:   "mirrord",
		Type:     cdx.ComponentTypeApplication,
		Name:     "mirrord",
		Version:  version,
		Licenses: &cdx.Licenses{{Expression: "Apache-2.0"}},
	}
	var built []cdx.Property
	for _, s := range info.Settings {
		if s.Value != "" {
			built = append(built, cdx.Property{Name: "go:build:" + s.Key, Value: s.Value})
		}
	}
	main.Properties = &built
	var components []cdx.Component
	var refs []string
	for _, m := range all {
		url := "pkg:golang/" + m.path + "@" + m.version
		c := cdx.Component{
			BOMRef:     url,
			Type:       cdx.ComponentTypeLibrary,
			Name:       m.path,
			Version:    m.version,
			PackageURL: url,
			Licenses:   &cdx.Licenses{{Expression: m.licence}},
		}
		if m.sum != "" {
			c.Properties = &[]cdx.Property{{Name: "go:sum", Value: m.sum}}
		}
		components = append(components, c)
		refs = append(refs, url)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var b bytes.Buffer
	if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom,
		cdx.SpecVersion1_5); err != nil {
		return nil, err
	}
	if !json.Valid(b.Bytes()) {
		return nil, errors.New("the bill of materials is not JSON")
	}
	return b.Bytes(), nil
}
