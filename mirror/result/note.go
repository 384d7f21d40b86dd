// SPDX-License-Identifier: Apache-2.0

package result

// Note is something that happened to several URLs and that a person should know.
type Note struct {
	What     string   `json:"what"`
	Count    int      `json:"count"`
	Examples []string `json:"examples,omitempty"` // some of the URLs
}

// FailedURL is one URL that could not be retrieved.
type FailedURL struct {
	URL    string `json:"url"`
	Reason string `json:"reason"`
}
