package capability

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	pageCount = 1000
	pageBytes = 3 << 20 // gRPC clients accept 4 MiB by default
)

// page returns one page of a list, limited by count and by bytes; it has at least one item. The
// token encodes the offset and the key of the last item, so that items added or removed between
// pages shift nothing.
func page[E proto.Message](all []E, key func(E) string, token string, size int32) ([]E, string, error) {
	start, err := pageStart(all, key, token)
	if err != nil {
		return nil, "", err
	}
	limit := pageCount
	if size > 0 && int(size) < limit {
		limit = int(size)
	}
	end, bytes := start, 0
	for end < len(all) && end-start < limit {
		bytes += proto.Size(all[end]) + 8 // with its tag and length
		if bytes > pageBytes && end > start {
			break
		}
		end++
	}
	if end == len(all) {
		return all[start:], "", nil
	}
	return all[start:end], fmt.Sprintf("%d-%x", end, keyHash(key(all[end-1]))), nil
}

func pageStart[E proto.Message](all []E, key func(E) string, token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	before, after, ok := strings.Cut(token, "-")
	offset, err := strconv.Atoi(before)
	hash, herr := strconv.ParseUint(after, 16, 64)
	if !ok || err != nil || herr != nil || offset < 1 {
		return 0, status.Errorf(codes.InvalidArgument, "page token %.40q was not given by this list; start from the first page", token)
	}
	if offset <= len(all) && keyHash(key(all[offset-1])) == hash {
		return offset, nil
	}
	for i, e := range all {
		if keyHash(key(e)) == hash {
			return i + 1, nil
		}
	}
	return min(offset-1, len(all)), nil // that item was removed, so later items moved up by one
}

func keyHash(key string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return h.Sum64()
}
