package sim

import (
	"reflect"
	"unsafe"
)

// duplicate copies what a pointer leads to, with everything in it that can be changed:
// a ledger in memory as a copy of its database is. What lies behind an interface, and
// functions, are shared: clocks and sources of ids.
func duplicate[T any](of *T) *T {
	return copied(reflect.ValueOf(of), map[where]reflect.Value{}).Interface().(*T)
}

// where tells pointers apart: a struct and its first field share an address.
type where struct {
	at uintptr
	of reflect.Type
}

func copied(v reflect.Value, known map[where]reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		p := where{v.Pointer(), v.Type()}
		if out, ok := known[p]; ok {
			return out
		}
		out := reflect.New(v.Type().Elem())
		known[p] = out
		fill(out.Elem(), v.Elem(), known)
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			fill(out.Index(i), v.Index(i), known)
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for each := v.MapRange(); each.Next(); {
			out.SetMapIndex(copied(each.Key(), known), copied(each.Value(), known))
		}
		return out
	case reflect.Struct, reflect.Array:
		from, out := reflect.New(v.Type()).Elem(), reflect.New(v.Type()).Elem()
		from.Set(v)
		fill(out, from, known)
		return out
	}
	return v
}

// fill copies a value that has an address to another, fields that are not exported too.
func fill(to, from reflect.Value, known map[where]reflect.Value) {
	switch from.Kind() {
	case reflect.Struct:
		for i := range from.NumField() {
			fill(opened(to.Field(i)), opened(from.Field(i)), known)
		}
	case reflect.Array:
		for i := range from.Len() {
			fill(to.Index(i), from.Index(i), known)
		}
	default:
		to.Set(copied(from, known))
	}
}

// opened is a field that can be read and set whatever its name.
func opened(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}
