// Package relocate finds the links of a document and changes them so that a copy works where it lies.
package relocate
