// SPDX-License-Identifier: Apache-2.0

// Package parts makes a registry out of a method set, so that a part is added by adding a file.
//
// Go has no way for a file to register what it declares except an init function or a package variable that
// others append to; this module has neither. A registry here is an empty struct type; each part is one
// exported method of it, written in the file of the part:
//
//	type ways struct{}                                 // way.go
//	func (ways) Webhook() way { return way{…} }        // webhook.go
//
//	for _, w := range parts.Of[way](ways{}) { … }
//
// A test can add a part of its own in a _test.go file. Of uses reflection: call it once and keep what it
// returns where speed matters.
package parts

import (
	"fmt"
	"reflect"
)

// Of calls every exported method of set that takes nothing and returns one T, and returns the results in the
// order of the methods' names. It panics for an exported method of another signature, and for none at all:
// both are faults of the program that any test finds.
func Of[T any](set any) []T {
	v := reflect.ValueOf(set)
	if v.NumMethod() == 0 {
		panic(fmt.Sprintf("registry %T: it has no parts", set))
	}
	all := make([]T, v.NumMethod())
	for i := range all {
		part, ok := v.Method(i).Interface().(func() T)
		if !ok {
			panic(fmt.Sprintf("registry %T: %s is %v, not %T", set, v.Type().Method(i).Name, v.Method(i).Type(), part))
		}
		all[i] = part()
	}
	return all
}
