//! A text in XML as a tree of elements, of which names, texts and places are kept.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

/// Most elements of a text: more than fit into a job description of 1 MiB.
const ELEMENTS_MAX: usize = 300_000;

/// An element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Name without its prefix.
    pub name: String,
    /// Text that stands in it and in no element below.
    pub text: String,
    /// Attributes: names without prefixes, and values as written.
    pub attributes: Vec<(String, String)>,
    /// Elements in it, in written order.
    pub children: Vec<Element>,
    /// Where it begins in the text; bytes.
    pub at: usize,
}

/// A text that is not read, and where the reason stands in it; bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XmlFault {
    /// It is no XML, or has a document type.
    Broken(usize),
    /// Elements are nested deeper than was allowed, or there are more than 300,000.
    TooLarge(usize),
}

impl Element {
    /// The first element of a name in it.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|it| it.name == name)
    }

    /// Elements of a name in it.
    pub fn children<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Element> {
        self.children.iter().filter(move |it| it.name == name)
    }

    /// The text of the first element of a name in it, without blanks around; empty without one.
    pub fn text_of(&self, name: &str) -> &str {
        self.child(name).map_or("", |it| it.text.trim_ascii())
    }
}

/// Reads a text whose length is within its bound. `depth_max`: how deep elements may be nested.
///
/// # Errors
/// It is no XML of one root, has a document type, or goes beyond a bound.
pub fn root(text: &str, depth_max: usize) -> Result<Element, XmlFault> {
    let mut reader = Reader::from_str(text);
    // The first is what stands around the root.
    let mut open = vec![Element::default()];
    let mut elements = 0;
    loop {
        let at = place(reader.buffer_position());
        let event = reader.read_event();
        let event = event.map_err(|_| XmlFault::Broken(place(reader.error_position())))?;
        let wrong = || XmlFault::Broken(at);
        match event {
            Event::Start(_) | Event::Empty(_) if elements == ELEMENTS_MAX => {
                return Err(XmlFault::TooLarge(at));
            }
            Event::Start(start) => {
                if open.len() > depth_max {
                    return Err(XmlFault::TooLarge(at));
                }
                elements += 1;
                open.push(element(&start, at)?);
            }
            Event::Empty(start) => {
                elements += 1;
                close(&mut open, element(&start, at)?);
            }
            // The reader compares the names.
            Event::End(_) => match open.pop() {
                Some(done) if !open.is_empty() => close(&mut open, done),
                _ => return Err(wrong()),
            },
            Event::Text(part) => add(&mut open, &part.decode().map_err(|_| wrong())?),
            Event::CData(part) => add(&mut open, &part.decode().map_err(|_| wrong())?),
            Event::GeneralRef(entity) => {
                let sign = entity.resolve_char_ref().map_err(|_| wrong())?;
                let name = entity.decode().map_err(|_| wrong())?;
                match (sign, resolve_predefined_entity(&name)) {
                    (Some(sign), _) => add(&mut open, sign.encode_utf8(&mut [0; 4])),
                    (None, Some(text)) => add(&mut open, text),
                    (None, None) => return Err(wrong()),
                }
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            // It could define what other parts stand for.
            Event::DocType(_) => return Err(wrong()),
            Event::Eof => break,
        }
    }
    let around = open.remove(0);
    let is_whole = open.is_empty() && around.text.trim_ascii().is_empty();
    match <[Element; 1]>::try_from(around.children) {
        Ok([root]) if is_whole => Ok(root),
        _ => Err(XmlFault::Broken(text.len())),
    }
}

fn place(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

fn element(start: &BytesStart<'_>, at: usize) -> Result<Element, XmlFault> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let attribute = |found: Result<quick_xml::events::attributes::Attribute<'_>, _>| {
        let found = found.map_err(|_| XmlFault::Broken(at))?;
        Ok((text(found.key.local_name().as_ref()), text(&found.value)))
    };
    // Whether one is stated twice is not looked for: that compares each with all before it.
    let mut attributes = start.attributes();
    let attributes = attributes.with_checks(false).map(attribute).collect::<Result<_, _>>()?;
    Ok(Element { name: text(start.local_name().as_ref()), attributes, at, ..Element::default() })
}

fn close(open: &mut [Element], done: Element) {
    if let Some(parent) = open.last_mut() {
        parent.children.push(done);
    }
}

fn add(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}
