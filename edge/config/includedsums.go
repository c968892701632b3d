package config

import "slices"

// sums returns a digest of each file by its name.
func (in Included) sums() map[string]string {
	out := map[string]string{}
	for _, one := range in {
		for _, f := range one.Files {
			out[f.Name] = Included{{Files: []IncludedFile{f}}}.Digest()
		}
	}
	return out
}

// ChangedFiles returns the names of files that differ between two results of AllFiles, sorted.
func ChangedFiles(before, after map[string]string) (names []string) {
	for name := range after {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, is := after[name]; !is {
			names = append(names, name)
		}
	}
	return slices.Sorted(slices.Values(names))
}

// AllFiles returns the digests of the settings file with a content, and of the files that it
// includes.
func AllFiles(file, content string, included Included) map[string]string {
	out := included.sums()
	out[file] = Included{{Files: []IncludedFile{{Name: file, Text: content}}}}.Digest()
	return out
}
