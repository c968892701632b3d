package catalog

import "testing"

func TestMentions(t *testing.T) {
	for body, names := range map[string]map[string]bool{
		"Call delete_user, then find.": {"delete_user": true, "find": false, "delete": false, "user": false},
		"Use `find` first":             {"find": true},
		"“find” or 'find'":             {"find": true},
		"`find(name)`":                 {"find": true},
		"see delete_users":             {"delete_user": false},
		"see my_delete_user":           {"delete_user": false},
		"delete_users or delete_user":  {"delete_user": true},
		"It ends with getThing.":       {"getThing": true},
		"getThing.now":                 {"getThing": false, "getThing.now": true},
		"":                             {"getThing": false},
		"getThing":                     {"getThing": true},
	} {
		for name, want := range names {
			if mentions(body, name) != want {
				t.Errorf("%q mentions %q: %t", body, name, !want)
			}
		}
	}
}
