// Package access decides whether a call may be made. It is the one place that does. It is asked when the name in the
// call is known and before its arguments are checked, so that the error comes before a byte is written to the client.
package access
