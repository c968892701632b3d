// Package revision is the one place that knows the published revisions of the Model Context
// Protocol. A version string becomes Rules: plain flags that say what the revision can carry and
// how it says what went wrong. Everybody else reads flags and never compares versions.
package revision
