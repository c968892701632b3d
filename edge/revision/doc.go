// Package revision is the only place that knows the published revisions of the Model Context
// Protocol. A version string selects Rules: flags that describe the features and the error format
// of the revision. Other packages read flags and never compare versions.
package revision
