//! Values of JavaScript, by the functions of Node-API.
//!
//! # How it works
//! The types of napi-rs ask for the kind of each value again and again; rows have many values. Here
//! is what they need, and no more.
//!
//! # Invariants
//! * ND-5 A [`Js`] and the values that it gives live within one call from JavaScript, on its
//!   thread: neither can be sent to another one.
#![expect(unsafe_code, reason = "Node-API is an interface of C")]

use std::ptr::{null, null_mut};

use napi::bindgen_prelude::{FromNapiValue, ToNapiValue};
use napi::{Env, Result, Status, ValueType, check_status, sys};

/// A value of JavaScript within one call.
#[derive(Clone, Copy)]
pub struct Any(sys::napi_value);

impl FromNapiValue for Any {
    unsafe fn from_napi_value(_env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        Ok(Any(value))
    }
}

impl ToNapiValue for Any {
    unsafe fn to_napi_value(_env: sys::napi_env, value: Self) -> Result<sys::napi_value> {
        Ok(value.0)
    }
}

/// The environment of one call.
#[derive(Clone, Copy)]
pub(crate) struct Js(sys::napi_env);

/// Calls a function of Node-API, whose last arguments are where it puts what it gives.
macro_rules! call {
    ($js:expr, $function:ident $(, $argument:expr)*) => {
        // SAFETY: ND-5: the environment and the values are those of this call; pointers are to
        // what lives until the function returns, with the lengths that go with them.
        check_status!(unsafe { sys::$function($js.0 $(, $argument)*) }, stringify!($function))
    };
}

macro_rules! makes {
    ($js:expr, $function:ident $(, $argument:expr)*) => {{
        let mut made = null_mut();
        call!($js, $function $(, $argument)*, &raw mut made)?;
        Ok(Any(made))
    }};
}

impl Js {
    pub(crate) fn new(env: &Env) -> Js {
        Js(env.raw())
    }

    pub(crate) fn null(self) -> Result<Any> {
        makes!(self, napi_get_null)
    }

    pub(crate) fn boolean(self, b: bool) -> Result<Any> {
        makes!(self, napi_get_boolean, b)
    }

    pub(crate) fn number(self, x: f64) -> Result<Any> {
        makes!(self, napi_create_double, x)
    }

    pub(crate) fn bigint(self, i: i64) -> Result<Any> {
        makes!(self, napi_create_bigint_int64, i)
    }

    pub(crate) fn string(self, text: &str) -> Result<Any> {
        makes!(
            self,
            napi_create_string_utf8,
            text.as_ptr().cast(),
            length(text.len())?
        )
    }

    /// A `Buffer` with a copy.
    pub(crate) fn buffer(self, bytes: &[u8]) -> Result<Any> {
        let (data, len) = (bytes.as_ptr().cast(), bytes.len());
        makes!(self, napi_create_buffer_copy, len, data, null_mut())
    }

    pub(crate) fn array(self, length: usize) -> Result<Any> {
        makes!(self, napi_create_array_with_length, length)
    }

    pub(crate) fn object(self) -> Result<Any> {
        makes!(self, napi_create_object)
    }

    pub(crate) fn set_item(self, array: Any, at: usize, value: Any) -> Result<()> {
        call!(self, napi_set_element, array.0, index(at)?, value.0)
    }

    /// Sets a property of a new object; `name` is the text of `key`.
    pub(crate) fn set(self, object: Any, (name, key): (&str, Any), value: Any) -> Result<()> {
        if name != "__proto__" {
            return call!(self, napi_set_property, object.0, key.0, value.0);
        }
        // Set like another one it would be the prototype of the object.
        let own = sys::napi_property_descriptor {
            utf8name: null(),
            name: key.0,
            method: None,
            getter: None,
            setter: None,
            value: value.0,
            attributes: sys::PropertyAttributes::writable
                | sys::PropertyAttributes::enumerable
                | sys::PropertyAttributes::configurable,
            data: null_mut(),
        };
        call!(self, napi_define_properties, object.0, 1, &raw const own)
    }

    /// Does `work`; values that it makes and does not put into another one are let go.
    pub(crate) fn within<T>(self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut scope = null_mut();
        call!(self, napi_open_handle_scope, &raw mut scope)?;
        let done = work();
        call!(self, napi_close_handle_scope, scope)?;
        done
    }

    /// What the function gives for the arguments.
    pub(crate) fn call(self, function: Any, arguments: &[Any]) -> Result<Any> {
        let this = self.null()?;
        let raw: Vec<_> = arguments.iter().map(|it| it.0).collect();
        makes!(
            self,
            napi_call_function,
            this.0,
            function.0,
            raw.len(),
            raw.as_ptr()
        )
    }

    pub(crate) fn kind(self, value: Any) -> Result<ValueType> {
        let mut kind = 0;
        call!(self, napi_typeof, value.0, &raw mut kind)?;
        Ok(ValueType::from(kind))
    }

    pub(crate) fn is_array(self, value: Any) -> Result<bool> {
        let mut is = false;
        call!(self, napi_is_array, value.0, &raw mut is)?;
        Ok(is)
    }

    pub(crate) fn to_boolean(self, value: Any) -> Result<bool> {
        let mut b = false;
        call!(self, napi_get_value_bool, value.0, &raw mut b)?;
        Ok(b)
    }

    pub(crate) fn to_number(self, value: Any) -> Result<f64> {
        let mut x = 0.0;
        call!(self, napi_get_value_double, value.0, &raw mut x)?;
        Ok(x)
    }

    /// The integer; none if it does not fit in 64 bits.
    pub(crate) fn to_integer(self, bigint: Any) -> Result<Option<i64>> {
        let (mut i, mut lossless) = (0, false);
        call!(
            self,
            napi_get_value_bigint_int64,
            bigint.0,
            &raw mut i,
            &raw mut lossless
        )?;
        Ok(lossless.then_some(i))
    }

    /// The text; none if it has half of a pair of surrogates, which no Unicode text has.
    pub(crate) fn to_text(self, string: Any) -> Result<Option<String>> {
        let mut units = 0;
        call!(
            self,
            napi_get_value_string_utf16,
            string.0,
            null_mut(),
            0,
            &raw mut units
        )?;
        // A zero stands behind the text.
        let mut text = vec![0; units + 1];
        let (data, room) = (text.as_mut_ptr(), text.len());
        call!(
            self,
            napi_get_value_string_utf16,
            string.0,
            data,
            room,
            &raw mut units
        )?;
        Ok(String::from_utf16(&text[..units]).ok())
    }

    /// A copy of the bytes of a `Buffer`, or a `Uint8Array`; none for another object.
    pub(crate) fn to_bytes(self, value: Any) -> Result<Option<Vec<u8>>> {
        let mut is = false;
        call!(self, napi_is_buffer, value.0, &raw mut is)?;
        if !is {
            return Ok(None);
        }
        let (mut data, mut len) = (null_mut(), 0);
        call!(
            self,
            napi_get_buffer_info,
            value.0,
            &raw mut data,
            &raw mut len
        )?;
        if len == 0 {
            return Ok(Some(Vec::new()));
        }
        // SAFETY: the function has given the bytes of the buffer and their number; JavaScript does
        // not run on this thread until they are copied, and no other one has the buffer: what is
        // shared was copied by `bytes` of `values.js`.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) };
        Ok(Some(bytes.to_vec()))
    }

    pub(crate) fn items(self, array: Any) -> Result<Vec<Any>> {
        let mut len = 0;
        call!(self, napi_get_array_length, array.0, &raw mut len)?;
        (0..len).map(|at| self.item(array, at)).collect()
    }

    fn item(self, array: Any, at: u32) -> Result<Any> {
        makes!(self, napi_get_element, array.0, at)
    }

    /// Names of its own properties that are enumerable and texts.
    pub(crate) fn names(self, object: Any) -> Result<Vec<Any>> {
        let filter = sys::KeyFilter::enumerable | sys::KeyFilter::skip_symbols;
        let (mode, texts) = (
            sys::KeyCollectionMode::own_only,
            sys::KeyConversion::numbers_to_strings,
        );
        let names: Result<Any> = makes!(
            self,
            napi_get_all_property_names,
            object.0,
            mode,
            filter,
            texts
        );
        self.items(names?)
    }

    pub(crate) fn get(self, object: Any, key: Any) -> Result<Any> {
        makes!(self, napi_get_property, object.0, key.0)
    }

    /// The property of this name.
    pub(crate) fn named(self, object: Any, name: &str) -> Result<Any> {
        self.get(object, self.string(name)?)
    }
}

fn length(bytes: usize) -> Result<isize> {
    let fits = isize::try_from(bytes);
    fits.map_err(|_| napi::Error::new(Status::InvalidArg, "a text beyond the memory"))
}

fn index(at: usize) -> Result<u32> {
    let message = "an array of JavaScript has 2^32 - 1 items at most";
    u32::try_from(at).map_err(|_| napi::Error::new(Status::InvalidArg, message))
}
