package admin

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// pageSize returns the maximum number of entries of a page: asked, from 1 to most, or standard if
// asked is 0.
func pageSize(asked int32, standard, most int) (int, error) {
	size := int(asked)
	switch {
	case size < 0 || size > most:
		return 0, status.Errorf(codes.InvalidArgument, "pageSize is %d: give 1 to %d, or nothing", size, most)
	case size == 0:
		return standard, nil
	}
	return size, nil
}
