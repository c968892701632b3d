package install

import "errors"

// format is the syntax of a host's file.
type format interface {
	// block returns the section of a file that has one member, without the rest of the file.
	block(section []string, name string, v values) []byte
	// merge returns a file in which the section has the member. Everything else stays as it is, comments included. An empty text is
	// an empty file. The error is errThere if the section has another member of that name and replace is not set. If it has the same
	// one, merge returns the text.
	merge(text []byte, section []string, name string, v values, replace bool) ([]byte, error)
}

var (
	jsonFile format = jsonFormat{}
	tomlFile format = tomlFormat{}
	tomlList format = tomlFormat{listed: true}
	yamlList format = yamlFormat{}
)

var errThere = errors.New("it has another entry of this name: give another --name, or --replace")
