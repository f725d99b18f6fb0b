-- What aeson makes of each input on stdin: of a string, the string as JSON; with the argument
-- `objects`, of the JSON text of an object, the text that decoding and encoding leave of it.
-- Both sides have frames: a length in bytes (32 bits, big endian), then that many bytes of UTF-8.
module Main (main) where

import qualified Data.Aeson as J
import qualified Data.ByteString.Builder as B
import qualified Data.ByteString.Lazy as L
import qualified Data.Text.Encoding as T
import System.Environment (getArgs)
import System.IO (hSetBinaryMode, stdin, stdout)

main :: IO ()
main = do
  arguments <- getArgs
  hSetBinaryMode stdin True
  hSetBinaryMode stdout True
  let work = if arguments == ["objects"] then again else encode
  L.getContents >>= B.hPutBuilder stdout . mconcat . map (frame . work) . frames

encode :: L.ByteString -> L.ByteString
encode = J.encode . J.String . T.decodeUtf8 . L.toStrict

again :: L.ByteString -> L.ByteString
again = either error (J.encode :: J.Object -> L.ByteString) . J.eitherDecode

frame :: L.ByteString -> B.Builder
frame bytes = B.word32BE (fromIntegral (L.length bytes)) <> B.lazyByteString bytes

frames :: L.ByteString -> [L.ByteString]
frames input
  | L.null input = []
  | otherwise = body : frames rest
  where
    (header, afterHeader) = L.splitAt 4 input
    size = L.foldl' (\n byte -> n * 256 + fromIntegral byte) 0 header
    (body, rest) = L.splitAt size afterHeader
