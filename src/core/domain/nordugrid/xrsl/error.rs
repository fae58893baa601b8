//! Errors of an xRSL text.

use super::dialect::is_xml;
use std::fmt;

/// How much of the text an error shows; characters.
const SHOWN_CHARACTERS: usize = 40;

/// Whether the text breaks the grammar or an attribute has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text does not follow the grammar.
    Syntax,
    /// The text follows the grammar; an attribute cannot be taken as it stands.
    Meaning,
}

impl ErrorKind {
    /// Its name in records and answers.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Syntax => "syntax",
            ErrorKind::Meaning => "meaning",
        }
    }
}

macro_rules! codes {
    ($($kind:ident $code:ident $name:literal $expected:literal;)*) => {
        /// Code of an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorCode { $(#[doc = $expected] $code,)* }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$code,)*];

            /// Its name in records and answers.
            pub fn name(self) -> &'static str {
                match self { $(ErrorCode::$code => $name,)* }
            }

            /// Whether it is an error of syntax or of meaning.
            pub fn kind(self) -> ErrorKind {
                match self { $(ErrorCode::$code => ErrorKind::$kind,)* }
            }

            /// The expected text or value, for people.
            pub fn expected(self) -> &'static str {
                match self { $(ErrorCode::$code => $expected,)* }
            }
        }
    };
}

codes! {
    Syntax MissingParenthesis "missing_parenthesis"
        "a parenthesis `(` or `)` is expected here; a value with any of +&|()=<>!\"'^#$ or blanks \
         in it is written in quotes";
    Syntax NoAttribute "no_attribute"
        "the name of an attribute, or `&`, `|` or `+`, is expected here";
    Syntax NoOperator "no_operator"
        "one of = != < <= > >= is expected after an attribute's name";
    Syntax TextAfterEnd "text_after_end"
        "the description is complete before this; remove what follows, or enclose all conditions \
         as &(...)(...)";
    Syntax PlusInside "plus_inside"
        "`+` joins whole jobs and may stand only at the top, not below `&` or `|`";
    Syntax UnterminatedString "unterminated_string"
        "the string that begins here has no closing delimiter";
    Syntax UnterminatedComment "unterminated_comment"
        "the comment that begins here has no closing `*)`";
    Syntax NoValue "no_value"
        "`#` joins two values; one is expected here";
    Syntax BadVariable "bad_variable"
        "a variable is written $(NAME)";
    Syntax BadXml "bad_xml"
        "XML is expected here: elements that end in the order in which they began, without a \
         document type";
    Syntax UnknownLanguage "unknown_language"
        "XML with the root ActivityDescription (ADL) is read, and xRSL; JSDL and other languages \
         are not: write the job in one of the two";
    Syntax TooLong "too_long"
        "the text is longer than 1,048,576 bytes, the most that is read";
    Syntax TooDeep "too_deep"
        "parentheses are nested deeper than 256 levels, the most that are read";
    Meaning NotInteger "not_integer"
        "a whole number in decimal digits is expected";
    Meaning OutOfRange "out_of_range"
        "the number is outside its range: count and countpernode are at least 1, memory and disk \
         at least 0, ftpthreads 1 to 10, and no count of slots or bytes takes more than 64 bits";
    Meaning BadTime "bad_time"
        "a time is expected: minutes, or figures with units as in `2 hours 30 minutes`, `2h30`, \
         `600s`, `PT10M`; none has a fraction or a colon";
    Meaning BadValue "bad_value"
        "the value has the wrong shape or is an unknown word: most attributes take one string, \
         inputfiles and outputfiles lists (name source option=value ...) with a name that is not \
         empty, nodeaccess inbound and outbound, join and exclusiveexecution yes or no, \
         runtimeenvironment, opsys and middleware a name";
    Meaning BadOperator "bad_operator"
        "the attribute does not take this relation: runtimeenvironment, middleware and opsys take \
         all, cluster and queue = and !=, architecture =";
    Meaning BadOption "bad_option"
        "an option of a file is written name=value";
    Meaning BadSource "bad_source"
        "a file of yours is named by its path, or by file:/// and its whole path";
    Meaning DuplicateInput "duplicate_input"
        "two input files have the same name; rename one";
    Meaning BadJoin "bad_join"
        "`#` joins strings and variables, not lists";
    Meaning BadSubstitution "bad_substitution"
        "variables are defined as rsl_substitution = (NAME \"value\")";
    Meaning MultiplyDefined "multiply_defined"
        "the attribute may stand once in each alternative";
    Meaning ActionNotAllowed "action_not_allowed"
        "`action` is for the server; remove it";
    Meaning GridtimeConflict "gridtime_conflict"
        "gridtime may not stand beside cputime or walltime; give one of them";
    Meaning JoinConflict "join_conflict"
        "join needs stdout, and no stderr that differs from it";
    Meaning CountMissing "count_missing"
        "countpernode needs count";
    Meaning ExecutableNotStaged "executable_not_staged"
        "every name in executables must be one of inputfiles";
    Meaning ExecutableMissing "executable_missing"
        "a job names its program as executable";
    Meaning TooLarge "too_large"
        "the description grows beyond 16 MiB, the most that is read, once variables are put in \
         and alternatives are written out";
    Meaning TooManyAlternatives "too_many_alternatives"
        "there are more than 4,096 alternatives of all jobs together, the most that are read; \
         write fewer";
}

/// The first thing that is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XrslError {
    /// Language of the text.
    pub language: &'static str,
    /// Code of the error.
    pub code: ErrorCode,
    /// Line, from 1; a line ends with a line feed.
    pub line: u64,
    /// Column, from 1, in characters (code points). The end of the text is one past the last.
    pub column: u64,
    /// The text at that place, for people: the rest of the line, cut.
    pub subject: String,
}

/// An error where it was found: a code and a place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) code: ErrorCode,
    /// Where it stands; bytes.
    pub(super) at: usize,
}

impl Fault {
    pub(super) fn new(code: ErrorCode, at: usize) -> Fault {
        Fault { code, at }
    }

    /// The error with line and column, and what stands there.
    pub(super) fn located(self, text: &str) -> XrslError {
        let (before, after) = text.split_at_checked(self.at).unwrap_or((text, ""));
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() as u64 + 1;
        let column = before.get(line_start..).unwrap_or_default().chars().count() as u64 + 1;
        let here = after.lines().next().unwrap_or_default();
        let subject = match here.char_indices().nth(SHOWN_CHARACTERS) {
            Some((end, _)) => format!("`{} ...`", here.get(..end).unwrap_or_default()),
            None if after.is_empty() => "the end of the text".to_owned(),
            None if here.is_empty() => "the end of the line".to_owned(),
            None => format!("`{here}`"),
        };
        let language = if is_xml(text) { "ADL" } else { "xRSL" };
        XrslError { language, code: self.code, line, column, subject }
    }
}

impl XrslError {
    /// Whether it is an error of syntax or of meaning.
    pub fn kind(&self) -> ErrorKind {
        self.code.kind()
    }
}

impl fmt::Display for XrslError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let XrslError { language, code, line, column, subject } = self;
        let (kind, name, expected) = (code.kind().name(), code.name(), code.expected());
        write!(f, "{language}, line {line}, column {column}: found {subject}: {expected}")?;
        write!(f, " ({kind} error {name})")
    }
}

impl std::error::Error for XrslError {}
