// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"net/http"
	"strings"
)

// MethodError says that a path exists and does not take the method of a request.
type MethodError struct {
	Method string
	Allow  string // the methods that it takes, as the header field Allow has them (RFC 9110 §10.2.1)
}

func (e *MethodError) Error() string {
	return fmt.Sprintf("%s is not possible here; this address takes %s", e.Method, e.Allow)
}

// WrongMethod returns the error of a request that no pattern of a mux with a method takes, when there is one
// that takes its path with another method; else nil. It is answered with 405 (RFC 9110 §15.5.6).
func WrongMethod(mux *http.ServeMux, r *http.Request) error {
	var allow []string
	for _, method := range []string{
		http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
	} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); strings.Contains(pattern, " ") {
			allow = append(allow, method)
		}
	}
	if allow == nil {
		return nil
	}
	return &MethodError{r.Method, strings.Join(allow, ", ")}
}
